import Glibc
import HardwareIO

/// Real recordings, which are stored next to the project and are not part of it.
public enum SharedData {
  /// Whether to run tests that need recordings. Only `SKIP=recordings` leaves them out; without the folder they fail.
  public static let isWanted = !isLeftOut("recordings")

  /// The folder, or `nil` if it is absent.
  public static let folder: String? = {
    let candidates = [environment("SENSORHUB_DATA"), packageFolder + "/../shared/data"].compactMap { $0 }
    return candidates.first { access($0 + "/nmea", R_OK) == 0 }
  }()

  /// The receiver logs by name, without their ending.
  public static var logs: [String] { logs(of: "nmea") }

  /// The logs of receivers with binary protocols, by name.
  public static var binaryLogs: [String] { logs(of: "ubx") }

  private static func logs(of kind: String) -> [String] {
    guard let folder else { return [] }
    return Files.names(in: "\(folder)/\(kind)").filter { $0.hasSuffix(".log") }.map { String($0.dropLast(4)) }
  }

  public static func read(_ path: String) -> [UInt8] {
    do {
      return try Files.bytes(of: path)
    } catch {
      preconditionFailure("cannot read \(path): \(error)")
    }
  }

  /// The root folder of the package, found from this file's path.
  public static let packageFolder = #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" }

  private static func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
}
