import Glibc

/// The device files in which receivers and I2C chips may be found.
enum DeviceFiles {
  static var serialPorts: [String] {
    // Sixteen-odd ttyS entries exist on any PC and have no hardware behind them: only those that a driver has claimed.
    files(withPrefixes: ["ttyAMA", "ttyUSB", "ttyACM", "gnss"])
      + files(withPrefixes: ["ttyS"]).filter { isRealPort($0) }
  }

  static var i2cBuses: [String] { files(withPrefixes: ["i2c-"]) }

  private static func files(withPrefixes prefixes: [String]) -> [String] {
    guard let directory = opendir("/dev") else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if prefixes.contains(where: { name.hasPrefix($0) }) { names.append("/dev/\(name)") }
    }
    return names.sorted()
  }

  /// A port without hardware is of type 0.
  private static func isRealPort(_ path: String) -> Bool {
    let name = path.split(separator: "/").last ?? ""
    let file = open("/sys/class/tty/\(name)/type", O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return false }
    defer { close(file) }
    var type: UInt8 = 0
    return read(file, &type, 1) == 1 && type != UInt8(ascii: "0")
  }
}
