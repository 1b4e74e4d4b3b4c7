import MCAP
import NMEA

/// A page of states from a ring of segments, in the order of recording.
public struct StatePage: Sendable {
  /// The reports of the states, as JSON with their times.
  public var reports: [[UInt8]] = []
  /// The end of this page, from which the next one continues; `nil` if there is no next page.
  public var next: RecordingCursor?
}

extension SegmentCatalogue {
  /// The states of a period, up to the limit of a page.
  ///
  /// - Parameters:
  ///   - everySeconds: the page has at most one state of each such interval: the first one with a new position, or else
  ///     the first one; 0 for all states
  ///   - cursor: the end of the previous page
  ///   - isStopped: called repeatedly; the page ends when it returns true
  public func states(
    in times: Range<UTCTime>, everySeconds: Double, after cursor: RecordingCursor? = nil, limit: Int,
    isStopped: () -> Bool = { false }
  ) -> StatePage {
    let messages = RecordedMessages(files(in: times, after: cursor), in: times, after: cursor) { $0 == "/state" }
    var states = StatesOfRecording(messages, wanted: .states, everySeconds: everySeconds, after: cursor)
    var page = StatePage()
    // Files of a ring that cannot be read are skipped, so no error is thrown.
    while let entry = try? states.next(isStopped: isStopped) {
      if page.reports.count == limit { return page }
      page.reports.append(entry.report)
      page.next = states.cursor
      if isStopped() { return page }
    }
    page.next = states.isPaused ? states.cursor : nil
    return page
  }
}

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
