import MonotonicTime

extension Publisher {
  /// The latest value once none has come for `quiet`: what a burst of changes has come to.
  ///
  /// The last value is never lost: where the source ends before its time it comes right before the completion. Each
  /// subscriber has its own pace.
  public func debounced(
    for quiet: Duration, clock: any MonotonicTimeSource = MonotonicClock()
  ) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      Pacer(.afterQuiet(quiet), clock: clock, run: run).subscribe(to: self)
    }
  }
}
