/// A receiver whose driver is in the kernel, such as `/dev/gnss0` (drivers/gnss in Linux, sysfs-class-gnss).
///
/// The kernel powers the receiver while the device is open. The device is not a tty: it has no speed, and it passes
/// bytes on unchanged.
public struct GNSSDevice: Equatable, Sendable {
  private static let prefix = "/dev/gnss"
  /// The maximum number of bytes in one write. The kernel returns from a write only when the receiver's line has sent
  /// all bytes, and at 9600 baud this number takes a quarter of a second.
  static let longestWrite = 256

  /// The receiver's protocol according to the kernel's driver: `NMEA`, `SiRF`, `UBX` or `MTK`.
  public let type: String

  /// Returns `nil` if the path does not lead to such a device.
  public init?(_ path: String, on machine: MachineFiles = MachineFiles()) {
    guard let name = (Files.resolved(path) ?? path).split(separator: "/").last,
      let type = machine.words(of: "/sys/class/gnss/\(name)/type").first
    else { return nil }
    self.type = type
  }

  /// Whether a port in a board file has the kernel's name for such a device. The device may be absent.
  public static func isMeant(by port: String) -> Bool { port.hasPrefix(prefix) }
}
