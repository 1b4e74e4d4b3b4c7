import Glibc
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
    case .unreadable(let path, .system(_, EACCES)): "ls -l '\(path)'"
    case .unreadable(_, .system): nil
    case .unreadable(_, let error): error.nextStep
    case .noRecordings: "the names of recordings must end in .mcap"
    case .nothingBetween(_, _, let start):
      "a time of day means the recording's first day, \(UTCText.make(start).prefix(10)); for another day, give the "
        + "date too, in UTC"
    }
  }
}
