import MonotonicTime

extension Publisher {
  /// At most one value per interval: the first at once, then the latest one when the interval since the one before has
  /// passed. Two values are never closer to each other than the interval, however late a timer fires: what is late puts
  /// off what follows.
  ///
  /// The last value is never lost: it comes when its interval ends. Where the source ends before that it comes right
  /// before the completion, which waits for nothing.
  ///
  /// Each subscriber has its own pace. Nothing waits while nothing comes.
  public func throttled(
    to interval: Duration, clock: any MonotonicTimeSource = MonotonicClock()
  ) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      Pacer(.every(interval), clock: clock, run: run).subscribe(to: self)
    }
  }
}
