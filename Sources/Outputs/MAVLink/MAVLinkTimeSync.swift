import MonotonicTime

/// The difference between the clock of an autopilot and the hub's clock, by the time synchronisation protocol
/// (https://mavlink.io/en/services/timesync.html).
///
/// The hub asks with its own time, and the autopilot answers with its time. The autopilot's clock was read at some
/// instant between request and answer, so the difference is uncertain by half of the round trip. The answer with the
/// shortest round trip among the last ones counts.
struct MAVLinkTimeSync {
  private struct Sample {
    var at: MonotonicInstant
    /// The nanoseconds to add to the hub's time to get that of the autopilot, from this answer.
    var offset: Int64
    var roundTrip: Int64
  }

  private static let mostSamples = 8
  /// An answer of this age no longer counts, because the two clocks may have drifted apart.
  private static let longestAge = Duration.seconds(30)
  /// The largest drift that is expected within `longestAge`, in nanoseconds. A larger difference between two answers
  /// counts as a restart of the autopilot.
  private static let drift: Int64 = 3_000_000
  /// The limit of an autopilot's time, 146 years in nanoseconds. A larger time is wrong, and the differences of smaller
  /// ones fit into 64 bits.
  private static let latest: Int64 = 1 << 62

  private var samples: [Sample] = []
  private var request: Int64?
  /// The nanoseconds to add to the hub's time to get that of the autopilot; `nil` before the first answer.
  private(set) var offset: Int64?

  /// The time to send in a request. The answer to an earlier request is refused from now on.
  mutating func begin(at now: MonotonicInstant) -> Int64 {
    request = now.nanoseconds
    return now.nanoseconds
  }

  /// Takes an answer.
  ///
  /// - Parameters:
  ///   - request: the time in the answered request
  ///   - answer: the time of the autopilot
  /// - Returns: `false` if the answer is not to the latest request, or if its time is impossible
  mutating func take(request: Int64, answer: Int64, at now: MonotonicInstant) -> Bool {
    guard request == self.request, 1..<MAVLinkTimeSync.latest ~= answer, now.nanoseconds >= request else {
      return false
    }
    self.request = nil
    let roundTrip = now.nanoseconds - request
    let sample = Sample(at: now, offset: answer - request - roundTrip / 2, roundTrip: roundTrip)
    samples.removeAll { now - $0.at > MAVLinkTimeSync.longestAge }
    // Two answers that contradict each other show that the autopilot has restarted.
    let isStepped = samples.contains { other in
      abs(other.offset - sample.offset) > (other.roundTrip + roundTrip) / 2 + MAVLinkTimeSync.drift
    }
    if isStepped { samples = [] }
    if samples.count == MAVLinkTimeSync.mostSamples { samples.removeFirst() }
    samples.append(sample)
    offset = samples.min { $0.roundTrip < $1.roundTrip }?.offset
    return true
  }

  /// The autopilot's time in nanoseconds, or the hub's until the difference is known.
  func time(at instant: MonotonicInstant) -> Int64 { max(1, instant.nanoseconds &+ (offset ?? 0)) }
}
