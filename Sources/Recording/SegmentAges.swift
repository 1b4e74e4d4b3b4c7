import MonotonicTime

/// The ages of segments. They do not depend on changes of the system clock.
///
/// The time of a segment's file is read once; from then on, the age follows the monotonic clock. No segment counts as
/// older than the previous one, even if a board without a real-time clock wrote it with a date in 1970.
struct SegmentAges {
  /// The system clock counts as set if it changes by this much. Smaller changes are corrections.
  private static let smallestJump = Duration.seconds(10)

  private let time: RecordingTime
  /// When each segment was written, from its own time. If that time is in the future, it is unknown until the clock is
  /// set.
  private var writtenAt: [String: MonotonicInstant] = [:]
  /// When each segment was written, corrected so that none was written before the previous one.
  private var orderedAt: [String: MonotonicInstant] = [:]
  /// How far the system clock is ahead of the monotonic clock.
  private var lead: Int64

  init(_ time: RecordingTime) {
    self.time = time
    lead = SegmentAges.lead(time)
  }

  private static func lead(_ time: RecordingTime) -> Int64 {
    time.systemNanosecondsSince1970 &- time.clock.now.nanoseconds
  }

  /// Records the present segments, the oldest first, and forgets all others.
  mutating func look(at segments: [StoredSegment]) {
    let now = time.clock.now
    let systemNow = time.systemNanosecondsSince1970
    var known: [String: MonotonicInstant] = [:]
    var ordered: [String: MonotonicInstant] = [:]
    var before = MonotonicInstant(nanoseconds: .min)
    for segment in segments {
      let age = systemNow &- segment.writtenNanosecondsSince1970
      // Some file systems store times less exactly than the clock.
      let isFromFuture = age < -SegmentAges.smallestJump.inNanoseconds
      let own = isFromFuture ? nil : now.advanced(by: .zero - .nanoseconds(max(0, age)))
      guard let at = writtenAt[segment.name] ?? own else { continue }
      before = max(before, at)
      known[segment.name] = at
      ordered[segment.name] = before
    }
    writtenAt = known
    orderedAt = ordered
  }

  /// Records that a segment has just been written to.
  mutating func wrote(_ name: String) {
    writtenAt[name] = time.clock.now
    orderedAt[name] = time.clock.now
  }

  /// The age of a segment; zero if its time is in the future.
  func age(of name: String) -> Duration { orderedAt[name].map { time.clock.now - $0 } ?? .zero }

  /// When a segment was written, by the present clock; `nil` if its time is in the future.
  func writtenNanosecondsSince1970(_ name: String) -> Int64? {
    orderedAt[name] == nil ? nil : max(0, time.systemNanosecondsSince1970 &- age(of: name).inNanoseconds)
  }

  /// Whether the system clock has been set since the last call.
  mutating func hasClockJumped() -> Bool {
    let now = SegmentAges.lead(time)
    defer { lead = now }
    return (now &- lead).magnitude > UInt64(SegmentAges.smallestJump.inNanoseconds)
  }
}
