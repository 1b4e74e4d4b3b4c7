import Glibc

/// Real recordings, which lie beside the project and are not part of it.
public enum SharedData {
  /// The folder, or `nil` where it is absent: tests that need it are skipped, visibly.
  public static let folder: String? = {
    let candidates = [environment("SENSORHUB_DATA"), packageFolder + "/../shared/data"].compactMap { $0 }
    return candidates.first { access($0 + "/nmea", R_OK) == 0 }
  }()

  /// The receiver logs by name, without their ending.
  public static var logs: [String] {
    guard let folder, let directory = opendir(folder + "/nmea") else { return [] }
    defer { closedir(directory) }
    var names: [String] = []
    while let entry = readdir(directory) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name.hasSuffix(".log") { names.append(String(name.dropLast(4))) }
    }
    return names.sorted()
  }

  public static func read(_ path: String) -> [UInt8] {
    let file = open(path, O_RDONLY)
    precondition(file >= 0, "cannot read \(path)")
    defer { close(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while true {
      let count = Glibc.read(file, &chunk, chunk.count)
      guard count > 0 else { return bytes }
      bytes += chunk[..<count]
    }
  }

  /// The package's root, from where this file lies.
  public static let packageFolder = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }

  private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
