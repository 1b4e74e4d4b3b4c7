import MonotonicTime

extension Publisher {
  /// Publishes the latest value after a pause of `quiet` without a new one: the outcome of a burst of changes.
  ///
  /// ```swift
  /// let settled = switchPosition.debounced(for: .milliseconds(50))
  /// ```
  ///
  /// The last value is never lost: if the source ends during the pause, the value is sent right before the
  /// completion. Each subscriber has its own timer.
  public func debounced(
    for quiet: Duration, clock: any MonotonicTimeSource = MonotonicClock()
  ) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      RateLimiter(.afterQuiet(quiet), clock: clock, run: run).subscribe(to: self)
    }
  }
}
