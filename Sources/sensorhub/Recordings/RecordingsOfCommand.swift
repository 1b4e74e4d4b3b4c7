import Glibc
import MCAP
import Outputs
import Recording

extension CommandError {
  /// Makes an error with the exit code of its kind.
  init(_ error: RecordingError) {
    let code: Code =
      switch error {
      case .unreadable(_, .system(_, ENOENT)), .noRecordings: .noInput
      case .unreadable(_, .system(_, EACCES)): .noPermission
      case .unreadable(_, .system): .inputOutput
      case .unreadable, .nothingWhole, .nothingBetween: .data
      }
    // The name of a file that someone else made must not look like lines of this program.
    self.init(code, Text.printable(error.summary), nextStep: error.nextStep.map(Text.printable))
  }
}

extension RecordingFiles {
  /// Finds the recordings that a command's arguments name. Reports files that are left out on standard error.
  init(_ paths: [String]) throws(RecordingError) {
    try self.init(paths) { Terminal.standardError("left out: \(CommandError($0))") }
  }
}

extension RecordingFiles {
  /// Checks that all recordings can be replayed.
  ///
  /// - Throws: if a recording has an older format without the inputs of the fusion
  func requirePresentFormat() throws(CommandError) {
    for file in files where file.messageCount > 0 {
      let opened: MCAPReader<MCAPFileSource>?
      do throws(RecordingError) { opened = try file.openIfThere() } catch { throw CommandError(error) }
      guard let reader = opened, RecordingFormat.isOlder(reader) else { continue }
      let maker = RecordedMessages.facts(named: "sensorhub", of: reader)["version"].map { "sensorhub \($0)" }
      throw CommandError(
        .data,
        "'\(Text.printable(file.path))' has an older format without the inputs of the fusion, which a replay needs",
        nextStep: "replay it with the version that recorded it"
          + "\(maker.map { ", \(Text.printable($0))" } ?? ""); info and export read it")
    }
  }
}

extension RecordedMessages {
  /// Reads the messages of recordings. If `showsProgress` is set, shows the progress on standard error.
  init(
    _ recordings: RecordingFiles, from: ExportTime?, to: ExportTime?, showsProgress: Bool = true,
    isWanted: @escaping @Sendable (String) -> Bool
  ) throws(RecordingError) {
    try self.init(
      recordings, from: from, to: to,
      progress: RecordingProgress(total: recordings.messageCount, isShown: showsProgress), isWanted: isWanted)
  }
}

enum RecordingState {
  static func text(of file: RecordingFiles.File) -> String {
    guard let damage = file.damage else { return "whole" }
    let leftOut = file.leftOutByteCount > 0 ? "; \(file.leftOutByteCount) bytes of it are damaged and left out" : ""
    if case .cut = damage {
      return
        "incomplete: a hub is writing it, or it was cut off; complete messages are read (export --format mcap writes a "
        + "complete file, and a hub repairs its own recordings when it starts)\(leftOut)"
    }
    return "damaged: \(damage.summary); complete messages are read\(leftOut)"
  }
}
