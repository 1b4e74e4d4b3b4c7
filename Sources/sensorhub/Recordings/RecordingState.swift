import MCAP

/// In what state a file is, in words.
enum RecordingState {
  static func text(of damage: MCAPError?) -> String {
    guard let damage else { return "whole" }
    if case .cut = damage {
      return "without an end: a hub is at it, or it was cut; what is whole is read, and the hub mends it when it starts"
    }
    return "damaged: \(damage.summary); what is whole is read"
  }
}
