import MonotonicTime

/// Computes when a continuously measuring chip has completed its measurements, from its start time and the time of
/// each access.
struct SimulatedMeasurements: Sendable {
  private var start: MonotonicInstant?
  private var count = 0

  /// - Parameter start: the start of measuring; `nil` stops it
  mutating func begin(at start: MonotonicInstant?) {
    self.start = start
    count = 0
  }

  /// When the latest measurement was complete; `nil` if none has been completed since the last call.
  ///
  /// - Parameter period: the period in nanoseconds
  mutating func next(by now: MonotonicInstant, period: Int64) -> MonotonicInstant? {
    guard let start else { return nil }
    let due = Int((now - start).inNanoseconds / period)
    guard due > count else { return nil }
    count = due
    return start + .nanoseconds(period * Int64(due))
  }
}
