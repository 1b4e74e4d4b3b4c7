import HardwareIO

/// The device files at which receivers may be found.
enum DeviceFiles {
  static var serialPorts: [String] {
    // A PC has about sixteen ttyS entries without hardware, which are left out.
    files(withPrefixes: ["ttyAMA", "ttyUSB", "ttyACM", "gnss"])
      + files(withPrefixes: ["ttyS"]).filter { isRealPort($0) }
  }

  private static func files(withPrefixes prefixes: [String]) -> [String] {
    Files.names(in: "/dev").filter { name in prefixes.contains { name.hasPrefix($0) } }.map { "/dev/\($0)" }
  }

  /// Whether a port has hardware. The kernel reports the type 0 for a port without hardware.
  private static func isRealPort(_ path: String) -> Bool {
    let name = path.split(separator: "/").last ?? ""
    guard let type = try? Files.bytes(of: "/sys/class/tty/\(name)/type").first else { return false }
    return type != UInt8(ascii: "0")
  }
}
