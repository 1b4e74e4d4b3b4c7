import Hub
import MCAP

/// The board that a recording was made on.
enum BoardOfRecording {
  /// What its board file called it; `nil` where the recording does not tell, or this program cannot read the file.
  static func name(_ reader: MCAPReader<MCAPFileSource>) -> String? {
    guard let text = RecordedMessages.facts(named: "board", of: reader)["file"] else { return nil }
    return (try? Board(json5: Array(text.utf8), file: "board"))?.name
  }
}
