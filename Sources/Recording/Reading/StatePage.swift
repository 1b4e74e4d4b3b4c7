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
