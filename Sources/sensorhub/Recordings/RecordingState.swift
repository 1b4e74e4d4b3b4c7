import MCAP
import Recording

enum RecordingState {
  static func text(of file: RecordingFiles.File) -> String {
    guard let damage = file.damage else { return "whole" }
    let leftOut = file.leftOutByteCount > 0 ? "; \(file.leftOutByteCount) bytes in it are damaged and left out" : ""
    if case .cut = damage {
      return
        "without an end: a hub is writing it, or it was cut; complete messages are read (export --format mcap makes a complete one "
        + "of that, and a hub mends its own when it starts)\(leftOut)"
    }
    return "damaged: \(damage.summary); complete messages are read\(leftOut)"
  }
}
