import MonotonicTime

extension MonotonicTimeSource {
  /// Publishes an instant after every interval since the subscription. The instant is the one at which the tick was
  /// due, so that ticks do not drift. Ticks that are overdue when the handlers of the previous tick return are skipped.
  ///
  /// ```swift
  /// let lease = MonotonicClock().ticks(every: .seconds(1)).subscribe(as: "status", receiveValue: { report(at: $0) })
  /// ```
  ///
  /// - Parameter interval: greater than zero
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
