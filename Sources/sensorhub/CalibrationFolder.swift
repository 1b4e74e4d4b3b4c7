import Glibc
import Hub

/// Where calibrations are stored: a file for each chip.
enum CalibrationFolder {
  /// `/var/lib/sensorhub/calibration` for the system's hub, otherwise in the user's own folder for such things.
  static var path: String {
    if let folder = environment("STATE_DIRECTORY") { return "\(folder)/calibration" }
    if getuid() == 0 { return "/var/lib/sensorhub/calibration" }
    if let folder = environment("XDG_STATE_HOME") { return "\(folder)/sensorhub/calibration" }
    return "\(environment("HOME") ?? "/tmp")/.local/state/sensorhub/calibration"
  }

  static func file(for place: I2CPlace) -> String { "\(path)/\(place.identifier).json5" }

  /// Makes the folder, and everything above it.
  static func make() throws(CommandError) {
    var folder = ""
    for part in path.split(separator: "/") {
      folder += "/\(part)"
      guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
        throw CommandError(
          errno == EACCES ? .noPermission : .inputOutput,
          "cannot make '\(folder)': \(String(cString: strerror(errno)))",
          nextStep: "run as the user that the hub runs as, or set XDG_STATE_HOME")
      }
    }
  }

  private static func environment(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}
