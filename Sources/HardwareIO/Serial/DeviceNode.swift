import CLinux
import Glibc

/// The identity of the device of an open file, so that another device in its place is noticed.
public struct DeviceNode: Equatable, Sendable {
  /// Where the kernel has it: by its bus and socket where sysfs tells, and by its number elsewhere.
  public let place: String
  /// Another one each time that it appears.
  public let inode: UInt64

  /// `nil` if it is not open.
  public init?(of descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    // As makedev(3) puts them together.
    let number = UInt64(status.st_rdev)
    let major = number >> 8 & 0xFFF | number >> 32 & 0xFFFF_F000
    let minor = number & 0xFF | number >> 12 & 0xFFFF_FF00
    place = Files.resolved("/sys/dev/char/\(major):\(minor)") ?? "\(major):\(minor)"
    inode = UInt64(status.st_ino)
  }
}
