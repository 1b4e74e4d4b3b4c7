import Glibc
import Hub

/// A reason why a hub on this machine could not record as configured. The description includes the next step.
public enum RecordingSetupError: Equatable, Sendable {
  /// The parent folder is missing; only the last folder of the path is made.
  case missing(folder: String)
  case notWritable(folder: String, errno: Int32)
  /// The disk is smaller than the budget.
  case diskTooSmall(path: String, byteCount: UInt64, wanted: UInt64)
  /// Other files on the disk leave no room for the budget.
  case tooLittleFree(path: String, byteCount: UInt64, wanted: UInt64)

  /// The error for this user on this machine; `nil` if there is none.
  public static func find(for settings: RecordSettings) -> RecordingSetupError? {
    let path = settings.path
    // The path of the folder, or of its parent if the folder does not exist.
    let folder = access(path, F_OK) == 0 ? path : path.lastIndex(of: "/").map { String(path[..<$0]) + "/" } ?? "."
    guard access(folder, F_OK) == 0 else { return .missing(folder: folder) }
    guard access(folder, W_OK | X_OK) == 0 else { return .notWritable(folder: folder, errno: errno) }
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { return nil }
    let wanted = UInt64(settings.maximumMegabytes) * 1_000_000
    let all = UInt64(status.f_blocks) * UInt64(status.f_frsize)
    if all < wanted { return .diskTooSmall(path: path, byteCount: all, wanted: wanted) }
    // The space of old recordings counts as free, because new ones replace them.
    let recorded = SegmentFolder(path: path).segments.reduce(0) { $0 + $1.byteCount }
    let free = UInt64(status.f_bavail) * UInt64(status.f_frsize) + recorded
    return free < wanted ? .tooLittleFree(path: path, byteCount: free, wanted: wanted) : nil
  }
}

extension RecordingSetupError: CustomStringConvertible {
  public var description: String {
    switch self {
    case .missing(let folder):
      "there is no folder \(folder), and the hub creates only the last folder of 'record.path'; create it: mkdir -p "
        + "\(ShellText.word(folder))"
    case .notWritable(let folder, EROFS):
      "the disk of \(folder) is read-only; mount it writable, or choose another folder"
    case .notWritable(let folder, let errno):
      "this user cannot write to \(folder): \(String(cString: strerror(errno))); if the hub runs as another user, "
        + "ignore this; otherwise: sudo chown"
    case .diskTooSmall(let path, let byteCount, let wanted):
      "'record.maximumMegabytes' is \(wanted / 1_000_000), and the disk of \(path) has \(byteCount / 1_000_000) in "
        + "all; reduce the value, or choose another folder"
    case .tooLittleFree(let path, let byteCount, let wanted):
      "'record.maximumMegabytes' is \(wanted / 1_000_000), and the disk of \(path) has \(byteCount / 1_000_000) for "
        + "it; free some space, or reduce the value: otherwise the disk fills first, and the hub deletes "
        + "the oldest recordings"
    }
  }
}
