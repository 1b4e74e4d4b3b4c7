import NMEA

/// Some states of a ring of segments, in the order in which they were recorded.
public struct StatePage: Sendable {
  /// Each as its report, JSON, with its time.
  public var reports: [[UInt8]] = []
  /// Where the next page begins; `nil` where there is none.
  public var next: RecordingPlace?
}

extension SegmentCatalogue {
  /// The states of a time, as many as a page may have.
  ///
  /// - Parameters:
  ///   - everySeconds: no more than one state in this time, the first with a new position where there is one; 0 for all
  ///   - place: where the page before ended
  ///   - isStopped: asked again and again; once it says so the page ends
  public func states(
    in times: Range<UTCTime>, everySeconds: Double, after place: RecordingPlace? = nil, limit: Int,
    isStopped: () -> Bool = { false }
  ) -> StatePage {
    let messages = RecordedMessages(files(in: times, after: place), in: times, after: place) { $0 == "/state" }
    var states = StatesOfRecording(messages, wanted: .states, everySeconds: everySeconds, after: place)
    var page = StatePage()
    // What lies in a ring is read leniently: nothing is thrown.
    while let entry = try? states.next(isStopped: isStopped) {
      if page.reports.count == limit { return page }
      page.reports.append(entry.report)
      page.next = states.place
      if isStopped() { return page }
    }
    page.next = states.isPaused ? states.place : nil
    return page
  }
}
