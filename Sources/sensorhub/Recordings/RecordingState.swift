import MCAP

/// In what state a file is, in words.
enum RecordingState {
  static func text(of damage: MCAPError?) -> String {
    guard let damage else { return "whole" }
    if case .cut = damage {
      return "cut: sensorhub info reads what is whole; recordings are repaired when the hub starts"
    }
    return "damaged: \(damage.summary); what is whole is read"
  }
}
