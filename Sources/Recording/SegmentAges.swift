import MonotonicTime

/// The times since segments were last written to, independent of changes of the system's clock.
///
/// A segment's time on the disk is read once, and its age then follows the monotonic clock. None is older than the one
/// before it in their order, even if a board without a clock wrote it in a supposed 1970.
struct SegmentAges {
  /// Less than this the clock is not set, but kept right.
  private static let smallestJump = Duration.seconds(10)

  private let time: RecordingTime
  /// By their own times. The age of one from the apparent future is unknown until the clock is set.
  private var writtenAt: [String: MonotonicInstant] = [:]
  /// The same, but none before the one that precedes it.
  private var orderedAt: [String: MonotonicInstant] = [:]
  /// By how much the system's clock is ahead of the monotonic one.
  private var lead: Int64

  init(_ time: RecordingTime) {
    self.time = time
    lead = SegmentAges.lead(time)
  }

  private static func lead(_ time: RecordingTime) -> Int64 {
    time.systemNanosecondsSince1970 &- time.clock.now.nanoseconds
  }

  /// Takes note of those that are there, the oldest first, and forgets the others.
  mutating func look(at segments: [StoredSegment]) {
    let now = time.clock.now
    let systemNow = time.systemNanosecondsSince1970
    var known: [String: MonotonicInstant] = [:]
    var ordered: [String: MonotonicInstant] = [:]
    var before = MonotonicInstant(nanoseconds: .min)
    for segment in segments {
      let age = systemNow &- segment.writtenNanosecondsSince1970
      // Disks keep times less exactly than the clock does.
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

  /// One has been written to just now.
  mutating func wrote(_ name: String) {
    writtenAt[name] = time.clock.now
    orderedAt[name] = time.clock.now
  }

  /// Nothing for one from the future.
  func age(of name: String) -> Duration { orderedAt[name].map { time.clock.now - $0 } ?? .zero }

  /// When one was written, by the clock as it is now; `nil` for one from the future.
  func writtenNanosecondsSince1970(_ name: String) -> Int64? {
    orderedAt[name] == nil ? nil : max(0, time.systemNanosecondsSince1970 &- age(of: name).inNanoseconds)
  }

  /// Whether the system's clock has been set since this was last asked.
  mutating func hasClockJumped() -> Bool {
    let now = SegmentAges.lead(time)
    defer { lead = now }
    return (now &- lead).magnitude > UInt64(SegmentAges.smallestJump.inNanoseconds)
  }
}
