import MCAP
import Recording

enum RecordingState {
  static func text(of file: RecordingFiles.File) -> String {
    guard let damage = file.damage else { return "whole" }
    let leftOut = file.leftOutByteCount > 0 ? "; \(file.leftOutByteCount) bytes of it are damaged and left out" : ""
    if case .cut = damage {
      return
        "without an end: a hub is writing it, or it was cut off; complete messages are read (export --format mcap writes a "
        + "complete file, and a hub repairs its own recordings when it starts)\(leftOut)"
    }
    return "damaged: \(damage.summary); complete messages are read\(leftOut)"
  }
}
