import CLinux
import Glibc

/// The identity of an open device file, so that a replacement by another device is noticed.
public struct DeviceNode: Equatable, Sendable {
  /// The location of the device: its bus and socket if sysfs states them, otherwise its device number.
  public let place: String
  /// The inode number. It changes each time the device appears.
  public let inode: UInt64

  /// Returns `nil` if the descriptor is not open.
  public init?(of descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    // The major and minor number are extracted as makedev(3) encodes them.
    let number = UInt64(status.st_rdev)
    let major = number >> 8 & 0xFFF | number >> 32 & 0xFFFF_F000
    let minor = number & 0xFF | number >> 12 & 0xFFFF_FF00
    place = Files.resolved("/sys/dev/char/\(major):\(minor)") ?? "\(major):\(minor)"
    inode = UInt64(status.st_ino)
  }
}
