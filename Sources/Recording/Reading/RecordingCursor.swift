import MCAP

/// The end of a page of states in a ring of segments. The next page begins after it, even if segments were added or
/// removed in the meantime.
public struct RecordingCursor: Equatable, Sendable {
  /// The segment's name.
  var file: String
  /// The log time of the last examined state.
  var logTimeNanoseconds: UInt64
  var sequence: UInt32
  /// The log time at which the next state is due.
  var dueNanoseconds: UInt64
  /// The log time at which the next state without a point is due.
  var givenNanoseconds: UInt64
  /// When the last point was measured, in seconds of the recording's monotonic clock.
  var stampSeconds: Double?

  init(
    file: String, logTimeNanoseconds: UInt64, sequence: UInt32, dueNanoseconds: UInt64, givenNanoseconds: UInt64,
    stampSeconds: Double?
  ) {
    self.file = file
    self.logTimeNanoseconds = logTimeNanoseconds
    self.sequence = sequence
    self.dueNanoseconds = dueNanoseconds
    self.givenNanoseconds = givenNanoseconds
    self.stampSeconds = stampSeconds
  }

  /// Reads the output of `text`; `nil` for anything else.
  public init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "~", omittingEmptySubsequences: false)
    guard parts.count == 6, SegmentName.isOne(String(parts[0])), let time = UInt64(parts[1]),
      let sequence = UInt32(parts[2]), let due = UInt64(parts[3]), let given = UInt64(parts[4]),
      let stamp = UInt64(parts[5]).map({ Double(bitPattern: $0) })
    else { return nil }
    self.init(
      file: String(parts[0]), logTimeNanoseconds: time, sequence: sequence, dueNanoseconds: due,
      givenNanoseconds: given, stampSeconds: stamp.isNaN ? nil : stamp)
  }

  /// The cursor as text. Its characters need no escaping in a URL.
  public var text: String {
    let stamp = (stampSeconds ?? .nan).bitPattern
    return "\(file)~\(logTimeNanoseconds)~\(sequence)~\(dueNanoseconds)~\(givenNanoseconds)~\(stamp)"
  }

  /// Whether a message of the cursor's segment has been examined already.
  func covers(_ message: MCAPMessage) -> Bool {
    (message.logTimeNanoseconds, message.sequence) <= (logTimeNanoseconds, sequence)
  }
}
