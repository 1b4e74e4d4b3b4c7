import CLinux
import Glibc
import HardwareIO

/// The folder for the hub's data that survives a run.
enum StateFolder {
  /// The folder that systemd names in `STATE_DIRECTORY`, or `/var/lib/sensorhub` for root, otherwise the user's own
  /// folder for such files; `nil` if the user has no home. It is never a folder that another user could have made
  /// first, because the next run trusts its contents.
  static let path = find()

  /// Why `path` is `nil`, and the next step.
  static let missingHome = "this user has no home folder; name a folder in STATE_DIRECTORY"

  private static func find() -> String? {
    if let folder = environment("STATE_DIRECTORY") { return folder }
    if getuid() == 0 { return "/var/lib/sensorhub" }
    if let folder = environment("XDG_STATE_HOME") { return "\(folder)/sensorhub" }
    return (environment("HOME") ?? registeredHome).map { "\($0)/.local/state/sensorhub" }
  }

  /// The home in the user database. A process that was not started by a login may have no HOME.
  private static var registeredHome: String? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var text = [CChar](repeating: 0, count: 1 << 14)
    guard getpwuid_r(getuid(), &entry, &text, text.count, &found) == 0, found != nil, let home = entry.pw_dir,
      home.pointee == CChar(UInt8(ascii: "/"))
    else { return nil }
    return String(cString: home)
  }

  /// The folder that cannot be made or must not be used, and the reason.
  struct AccessError: Error, CustomStringConvertible {
    var folder: String
    var reason: String

    var description: String { "cannot write in \(folder): \(reason)" }
  }

  /// Makes a folder and its missing parents.
  static func make(_ path: String) throws(AccessError) {
    var folder = ""
    for part in path.split(separator: "/") {
      folder += "/\(part)"
      guard mkdir(folder, 0o755) == 0 || errno == EEXIST else {
        throw AccessError(folder: folder, reason: String(cString: strerror(errno)))
      }
    }
  }

  /// Opens a folder for this program's files. If it or its parents are missing, makes them.
  static func open(_ path: String) throws(AccessError) -> Folder {
    try make(path)
    do throws(FolderError) {
      return try Folder(path, of: .trusted)
    } catch {
      throw AccessError(folder: path, reason: error.isUntrusted ? "\(error)" : String(cString: strerror(error.errno)))
    }
  }

  private static func environment(_ name: String) -> String? {
    guard let value = getenv(name), value.pointee != 0 else { return nil }
    return String(cString: value)
  }
}
