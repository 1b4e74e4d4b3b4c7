import MonotonicTime

/// The limit of how often in a row a sensor that answers may have no sample. Its reader then restarts it.
///
/// It counts looks, because a hub that was stopped for a while has missed no look. In addition, the time of these looks
/// must have passed by the clock that the sensor measures by. In a simulation this clock may stand still while the
/// reader looks.
///
///     var limit = SilenceLimit(looks: 20, every: .milliseconds(20))
///     if limit.isReached(afterEmptyLookAt: clock.now) { restart() }
struct SilenceLimit {
  private let looks: Int
  private let duration: Duration
  private var emptyLooks = 0
  private var firstAt: MonotonicInstant?

  init(looks: Int, every interval: Duration) {
    self.looks = looks
    duration = interval * (looks - 1)
  }

  /// Counts a look without a sample.
  ///
  /// - Returns: whether the sensor has been silent for too long
  mutating func isReached(afterEmptyLookAt now: MonotonicInstant) -> Bool {
    let first = firstAt ?? now
    firstAt = first
    emptyLooks += 1
    return emptyLooks >= looks && now - first >= duration
  }

  /// Starts again after a look with a sample.
  mutating func reset() {
    (emptyLooks, firstAt) = (0, nil)
  }
}
