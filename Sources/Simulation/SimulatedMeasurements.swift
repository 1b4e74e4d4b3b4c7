import MonotonicTime

/// When a chip that measures again and again has measured: follows from when it began and from who asks.
struct SimulatedMeasurements: Sendable {
  private var start: MonotonicInstant?
  private var count = 0

  /// - Parameter start: `nil` where measuring ends
  mutating func begin(at start: MonotonicInstant?) {
    self.start = start
    count = 0
  }

  /// When the latest measurement was complete; `nil` where none has been since the last time somebody asked.
  ///
  /// - Parameter period: nanoseconds
  mutating func next(by now: MonotonicInstant, period: Int64) -> MonotonicInstant? {
    guard let start else { return nil }
    let due = Int((now - start).inNanoseconds / period)
    guard due > count else { return nil }
    count = due
    return start + .nanoseconds(period * Int64(due))
  }
}
