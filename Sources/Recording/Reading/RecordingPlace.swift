import MCAP

/// How far the states of a ring of segments have been read: the next page begins behind it, whatever has been recorded or removed
/// meanwhile.
public struct RecordingPlace: Equatable, Sendable {
  /// The segment's name.
  var file: String
  /// Of the last state that was looked at.
  var logTimeNanoseconds: UInt64
  var sequence: UInt32
  /// Before this log time no other state is wanted.
  var dueNanoseconds: UInt64

  init(file: String, logTimeNanoseconds: UInt64, sequence: UInt32, dueNanoseconds: UInt64) {
    self.file = file
    self.logTimeNanoseconds = logTimeNanoseconds
    self.sequence = sequence
    self.dueNanoseconds = dueNanoseconds
  }

  /// Reads what `text` wrote; `nil` for anything else.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "~", omittingEmptySubsequences: false)
    guard parts.count == 4, SegmentName.isOne(String(parts[0])), let time = UInt64(parts[1]),
      let sequence = UInt32(parts[2]), let due = UInt64(parts[3])
    else { return nil }
    self.init(file: String(parts[0]), logTimeNanoseconds: time, sequence: sequence, dueNanoseconds: due)
  }

  /// In letters that mean nothing in an address.
  public var text: String { "\(file)~\(logTimeNanoseconds)~\(sequence)~\(dueNanoseconds)" }

  /// Whether a message of that segment has been looked at already.
  func covers(_ message: MCAPMessage) -> Bool {
    (message.logTimeNanoseconds, message.sequence) <= (logTimeNanoseconds, sequence)
  }
}
