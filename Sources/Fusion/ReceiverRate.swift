import MonotonicTime

/// The interval at which a receiver reports, and the number of epochs since it last had a position.
struct ReceiverRate: Sendable {
  /// The time from one epoch to the next in seconds; 0 before the second epoch.
  private(set) var interval = 0.0
  private(set) var epochsWithoutPosition = 0
  private var last: MonotonicInstant?

  mutating func take(_ at: MonotonicInstant, hasPosition: Bool) {
    epochsWithoutPosition = hasPosition ? 0 : epochsWithoutPosition + 1
    if let last, at > last {
      let step = at.seconds(since: last)
      // A single long pause at most doubles the interval.
      interval = interval == 0 ? step : min(step, interval * 2)
    }
    last = max(last ?? at, at)
  }
}
