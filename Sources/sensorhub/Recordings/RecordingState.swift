import MCAP
import Recording

/// In what state a file is, in words.
enum RecordingState {
  static func text(of file: RecordingFiles.File) -> String {
    guard let damage = file.damage else { return "whole" }
    let leftOut = file.leftOutByteCount > 0 ? "; \(file.leftOutByteCount) bytes in it are damaged and left out" : ""
    if case .cut = damage {
      return
        "without an end: a hub is at it, or it was cut; what is whole is read (export --format mcap makes a whole one "
        + "of that, and a hub mends its own when it starts)\(leftOut)"
    }
    return "damaged: \(damage.summary); what is whole is read\(leftOut)"
  }
}
