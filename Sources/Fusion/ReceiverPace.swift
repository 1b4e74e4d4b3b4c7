import MonotonicTime

/// How often a receiver reports, and for how many epochs it has had no position.
struct ReceiverPace: Sendable {
  /// From one epoch to the next, seconds; 0 before there have been two.
  private(set) var interval = 0.0
  private(set) var epochsWithoutPosition = 0
  private var last: MonotonicInstant?

  mutating func take(_ at: MonotonicInstant, hasPosition: Bool) {
    epochsWithoutPosition = hasPosition ? 0 : epochsWithoutPosition + 1
    if let last, at > last {
      let step = at.seconds(since: last)
      // One long pause says nothing of what is usual.
      interval = interval == 0 ? step : min(step, interval * 2)
    }
    last = max(last ?? at, at)
  }
}
