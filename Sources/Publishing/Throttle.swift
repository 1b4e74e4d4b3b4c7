import MonotonicTime

extension Publisher {
  /// Publishes at most one value per interval: the first immediately, then the latest one at the end of each
  /// interval.
  ///
  /// ```swift
  /// let slow = imu.samples.throttled(to: .milliseconds(100))  // at most 10 Hz
  /// ```
  ///
  /// Two values are never closer together than the interval: a timer that fires late delays the values after it.
  ///
  /// The last value is never lost. If the source ends before the interval does, the value is sent right before the
  /// completion, which is not delayed.
  ///
  /// Each subscriber has its own timer, which runs only while a value waits.
  public func throttled(
    to interval: Duration, clock: any MonotonicTimeSource = MonotonicClock()
  ) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      RateLimiter(.every(interval), clock: clock, run: run).subscribe(to: self)
    }
  }
}
