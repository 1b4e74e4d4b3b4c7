import Glibc
import Hub
import MCAP
import NMEA

/// The reason why recordings cannot be read, as a user sees it.
public enum RecordingError: Error, Equatable, Sendable {
  /// A file is invalid, or cannot be read.
  case unreadable(path: String, MCAPError)
  /// A folder contains no recording.
  case noRecordings(folder: String)
  /// None of these files has a complete message.
  case nothingWhole(paths: [String])
  /// The period ends before it begins. Most likely the user meant another day.
  case nothingBetween(from: UTCTime, to: UTCTime, recordedFrom: UTCTime)
}

extension RecordingError: CustomStringConvertible {
  public var description: String {
    guard let nextStep else { return summary }
    return "\(summary); \(nextStep)"
  }

  public var summary: String {
    switch self {
    case .unreadable(let path, .notMCAP): "'\(path)' is not an MCAP file"
    case .unreadable(let path, .cut(offset: 0)): "'\(path)' is empty, or cut off where it begins"
    case .unreadable(let path, .cut(let offset)):
      "'\(path)' contains no complete message: \(MCAPError.cut(offset: offset).summary)"
    case .unreadable(let path, .system(_, ENOENT)): "there is no file '\(path)'"
    case .unreadable(let path, .system(_, EACCES)): "no permission to read '\(path)'"
    case .unreadable(_, .system(let what, let errno)): MCAPError.system(what, errno: errno).summary
    case .unreadable(let path, let error): "'\(path)' cannot be read: \(error.summary)"
    case .noRecordings(let folder): "there is no recording in the folder '\(folder)'"
    case .nothingWhole(let paths): "all of the recordings are still empty: \(paths.joined(separator: ", "))"
    case .nothingBetween(let from, let to, _): "there is nothing from \(UTCText.make(from)) to \(UTCText.make(to))"
    }
  }

  /// The next step, if known.
  public var nextStep: String? {
    switch self {
    case .unreadable(_, .notMCAP):
      "give a recording, such as sensorhub-20261122T100000Z-000.mcap, or a folder of them; "
        + "sensorhub decode reads a receiver's output"
    case .unreadable(_, .cut), .nothingWhole: "while the hub records, the first chunk arrives within seconds"
    case .unreadable(_, .system(_, ENOENT)): "give a recording's path, or a folder of recordings"
    case .unreadable(let path, .system(_, EACCES)): "ls -l \(ShellText.word(path))"
    case .unreadable(_, .system): nil
    case .unreadable(_, let error): error.nextStep
    case .noRecordings: "the names of recordings must end in .mcap"
    case .nothingBetween(_, _, let start):
      "a time of day means the recording's first day, \(UTCText.make(start).prefix(10)); for another day, give the "
        + "date too, in UTC"
    }
  }
}

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
