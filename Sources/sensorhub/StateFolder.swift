import Glibc

/// Where the hub keeps what it is to know in its next run too.
enum StateFolder {
  /// `/var/lib/sensorhub` for the system's hub, otherwise the user's own folder for such things.
  static var path: String {
    if let folder = environment("STATE_DIRECTORY") { return folder }
    if getuid() == 0 { return "/var/lib/sensorhub" }
    if let folder = environment("XDG_STATE_HOME") { return "\(folder)/sensorhub" }
    return "\(environment("HOME") ?? "/tmp")/.local/state/sensorhub"
  }

  /// What cannot be made, and why.
  struct Obstacle: Error, CustomStringConvertible {
    var folder: String
    var reason: String

    var description: String { "cannot write in \(folder): \(reason)" }
  }

  /// Makes the folder, and everything above it.
  static func make(_ path: String = StateFolder.path) throws(Obstacle) {
    var folder = ""
    for part in path.split(separator: "/") {
      folder += "/\(part)"
      guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
        throw Obstacle(folder: folder, reason: String(cString: strerror(errno)))
      }
    }
  }

  private static func environment(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}
