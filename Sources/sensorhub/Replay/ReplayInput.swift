import CLinux
import ArgumentParser
import Glibc
import Hub
import MCAP
import Recording

/// The input of a replay: recordings of a hub, or a receiver's log.
enum ReplayInput: ReplaySource {
  case recording(RecordingReplay, until: Int64)
  case log(ReceiverLogReplay)

  /// Opens recordings, or one log.
  ///
  /// - Parameters:
  ///   - from, to: the period, for recordings
  ///   - board: a board file in place of the recorded ones
  ///   - showsProgress: whether to show the progress of reading on standard error
  init(_ paths: [String], from: ExportTime?, to: ExportTime?, board: String?, showsProgress: Bool = false) throws {
    let logs = paths.filter(ReplayInput.isLog)
    guard let log = logs.first else {
      let files = try RecordingFiles(paths)
      try files.requirePresentFormat()
      self = .recording(
        RecordingReplay(
          try RecordedMessages(
            files, from: from, to: to, showsProgress: showsProgress, isWanted: RecordingReplay.isWanted),
          topics: files.files.reduce(into: []) { $0.formUnion($1.topics) }, boardFile: board),
        until: Int64(clamping: files.files.map(\.endNanoseconds).max() ?? 0))
      return
    }
    guard paths.count == 1 else {
      throw ValidationError(
        "'\(log)' is a receiver's log: give one log without other files, or only recordings")
    }
    guard from == nil, to == nil else {
      throw ValidationError("--from and --to need a recording: leave them out for the log '\(log)'")
    }
    self = .log(try ReceiverLogReplay(path: log))
  }

  func next() throws(CommandError) -> ReplayedMessage? {
    switch self {
    case .recording(let recording, _): return try recording.next()
    case .log(let log): return try log.next()
    }
  }

  /// Whether the input is a log of a receiver.
  var isLog: Bool { if case .log = self { true } else { false } }

  /// The numbers of unreadable messages and chunks.
  var badCount: (messages: Int, chunks: Int) {
    if case .recording(let recording, _) = self { (recording.badMessageCount, recording.badChunkCount) } else { (0, 0) }
  }

  /// The period from the first message to the end of the last file or of the log, in nanoseconds since 1970.
  func times(from first: ReplayedMessage) -> ClosedRange<Int64> {
    let start = first.utcNanosecondsSince1970
    let end: Int64 =
      switch self {
      case .recording(let recording, let until): until.clampedSum(recording.correctionNanoseconds)
      case .log(let log): log.endNanosecondsSince1970
      }
    return start...max(start, end)
  }

  /// The IDs of the recorded devices.
  var devices: Set<String> {
    switch self {
    case .log: [ReceiverLogReplay.device]
    case .recording(let recording, _): recording.devices
    }
  }

  /// The first board, with the changes that a replay needs.
  ///
  /// - Parameter file: the board file for a receiver's log
  func board(_ file: String?) throws -> Board {
    if case .recording(let recording, _) = self, let board = recording.board { return board }
    if let file { return try BoardSource(file: file).load().asReplayed }
    let text = #"{ name: "log", devices: { \#(ReceiverLogReplay.device): { driver: "nmea", port: "log" } } }"#
    return try Board(json5: Array(text.utf8), file: "the board of a log").asReplayed
  }

  /// Whether a file exists and is not an MCAP file. `false` for a missing file and a folder, because reading them later
  /// reports the error.
  private static func isLog(_ path: String) -> Bool {
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT != S_IFDIR, status.st_size > 0 else { return false }
    do throws(MCAPError) {
      _ = try MCAPReader(path: path)
      return false
    } catch {
      if case .notMCAP = error { return true }
      return false
    }
  }
}
