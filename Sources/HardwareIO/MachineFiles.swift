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

  /// The next step if brltty may have taken a USB cable from its driver; `nil` otherwise. brltty looks for Braille
  /// displays on common cables, whose ports then disappear.
  ///
  /// - Parameter port: the missing port. If its name says where the cable is plugged in or which cable it is, other
  ///   cables do not count.
  public func stepAgainstBrltty(port: String? = nil) -> String? {
    guard has("/bin/brltty") || has("/usr/bin/brltty") else { return nil }
    let interfaces = "/sys/bus/usb/devices"
    let isTaken = names(in: interfaces).contains { name in
      // FF is the manufacturer's own class, which FTDI's, Silicon Labs' and WCH's cables have. 02 is that of modems,
      // which receivers with USB have.
      guard let code = words(of: "\(interfaces)/\(name)/bInterfaceClass").first, ["ff", "02"].contains(code) else {
        return false
      }
      let driver = resolved("\(interfaces)/\(name)/driver")
      guard driver == nil || driver?.hasSuffix("/usbfs") == true else { return false }
      return port.map { leads(from: $0, to: name) } ?? true
    }
    return isTaken
      ? "brltty, which looks for Braille displays, may have taken the cable. Unless such a display is in use: "
        + "sudo systemctl disable --now brltty, and plug the receiver in again" : nil
  }

  /// Whether the name of a serial port may mean a USB interface such as `1-1.3:1.0`. A name in `by-path` ends with the
  /// interface's own, without the bus: `usb-0:1.3:1.0-port0`. A name in `by-id` contains the serial number of the
  /// device, if it has one: `usb-FTDI_FT232R_USB_UART_A10K4YKD-if00-port0`.
  private func leads(from port: String, to interface: String) -> Bool {
    if port.hasPrefix("/dev/serial/by-path/") {
      let place = interface.drop { $0 != "-" }.dropFirst()
      let words = port.split(separator: "-").map { $0.split(separator: ":").dropFirst().joined(separator: ":") }
      return words.contains(String(place))
    }
    if port.hasPrefix("/dev/serial/by-id/") {
      let device = interface.prefix { $0 != ":" }
      let number = words(of: "/sys/bus/usb/devices/\(device)/serial").joined(separator: "_")
      // In other numbers udev replaces characters, or leaves the number out.
      let isKept = number.utf8.allSatisfy { isalnum(Int32($0)) != 0 || $0 == UInt8(ascii: "_") }
      return number.isEmpty || !isKept || port.contains("_\(number)-if")
    }
    return true
  }

  /// Whether raspi-config, the settings tool of Raspberry Pi OS, is installed.
  public var hasRaspiConfig: Bool { has("/usr/bin/raspi-config") }
}
