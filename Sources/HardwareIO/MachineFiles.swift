import Glibc

/// The files that describe a machine, for example those in /dev, /proc, /sys and /etc, or in the same folders below
/// another root.
public struct MachineFiles: Sendable {
  /// The prefix of each path; empty for the machine that runs this program.
  private let root: String

  public init(root: String = "") {
    // Links in the prefix are resolved, so that it matches paths whose links were resolved.
    self.root = root.isEmpty ? "" : Files.resolved(root) ?? root
  }

  /// Whether a file or folder exists. A link without a target counts as absent.
  public func has(_ path: String) -> Bool { access(root + path, F_OK) == 0 }

  public func names(in folder: String) -> [String] { Files.names(in: root + folder) }

  /// Returns the contents of a file, or `nil` if it cannot be read or is larger than 1 MiB.
  public func bytes(of path: String) -> [UInt8]? { try? Files.bytes(of: root + path, limit: 1 << 20) }

  /// Returns the words of a file. They are separated by white space, or by zero bytes as in the device tree. Returns
  /// none if the file cannot be read.
  public func words(of path: String) -> [String] {
    (bytes(of: path) ?? []).split { $0 <= UInt8(ascii: " ") }.map { String(decoding: $0, as: UTF8.self) }
  }

  /// Returns the target of a path after following all links, or `nil` if it does not exist.
  public func resolved(_ path: String) -> String? {
    guard let resolved = Files.resolved(root + path) else { return nil }
    return resolved.hasPrefix(root) ? String(resolved.dropFirst(root.count)) : resolved
  }

  /// The kernel's sensors.
  public var iio: IIOSystem {
    IIOSystem(sysfs: "\(root)/sys", dev: "\(root)/dev", configfs: "\(root)/sys/kernel/config")
  }

  /// Returns the text of a link, even if its target does not exist.
  public func link(_ path: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
      guard let base = buffer.baseAddress else { return nil }
      let count = readlink(root + path, base, buffer.count)
      return count < 0 ? nil : String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
  }

  public var isRaspberryPi: Bool { words(of: "/proc/device-tree/model").starts(with: ["Raspberry", "Pi"]) }

  /// The next step if brltty has opened a USB serial cable or has left one without its driver; `nil` otherwise. brltty
  /// looks for Braille displays on common cables, whose ports then disappear.
  public var stepAgainstBrltty: String? {
    guard has("/bin/brltty") || has("/usr/bin/brltty") else { return nil }
    let interfaces = "/sys/bus/usb/devices"
    let isTaken = names(in: interfaces).contains { name in
      // FF is the manufacturer's own class, which FTDI's, Silicon Labs' and WCH's cables have.
      guard words(of: "\(interfaces)/\(name)/bInterfaceClass") == ["ff"] else { return false }
      let driver = resolved("\(interfaces)/\(name)/driver")
      return driver == nil || driver?.hasSuffix("/usbfs") == true
    }
    return isTaken
      ? "brltty, which looks for Braille displays, has taken a USB cable from its driver: "
        + "sudo systemctl disable --now brltty, and plug the receiver in again" : nil
  }

  /// Whether raspi-config, the settings tool of Raspberry Pi OS, is installed.
  public var hasRaspiConfig: Bool { has("/usr/bin/raspi-config") }
}
