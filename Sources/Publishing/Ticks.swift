import MonotonicTime

extension MonotonicTimeSource {
  /// An instant after every interval, counted from the subscription: the one at which it was due, whenever the timer got
  /// round to it, so that ticks do not drift. Those that could not be sent before the next one was due are left out.
  ///
  /// - Parameter interval: above zero
  public func ticks(every interval: Duration) -> Deferred<MonotonicInstant, Never> {
    let interval = interval.inNanoseconds
    precondition(interval > 0, "ticks must be some time apart")
    return Deferred.deriving { (run) throws(Never) in
      let alarm = Alarm(clock: self)
      @Sendable func wait(for due: MonotonicInstant) {
        alarm.set(at: due) {
          run.send(due)
          let passed = (now.nanoseconds - due.nanoseconds) / interval
          wait(for: MonotonicInstant(nanoseconds: due.nanoseconds + (passed + 1) * interval))
        }
      }
      wait(for: MonotonicInstant(nanoseconds: now.nanoseconds + interval))
      return Subscription { alarm.end() }
    }
  }
}
