import Guarding
import MonotonicTime

/// Limits the rate of values. It keeps the latest value until the value is due, and passes on one value at a time.
final class RateLimiter<Output: Sendable, Failure: Error>: Sendable {
  enum Rate {
    /// Passes a value on once this duration has passed since the previous one.
    case every(Duration)
    /// Passes a value on once no new one has arrived for this duration.
    case afterQuiet(Duration)
  }

  private struct State {
    /// The earliest instant at which the next value may be passed on.
    var notBefore: MonotonicInstant?
    var waiting: Output?
    /// Whether the alarm is set or about to be.
    var isArmed = false
    /// Whether a value is being delivered. Values that arrive in the meantime wait, so that a slow handler is not
    /// called again immediately for each of them.
    var isSending = false
    /// How upstream ended; `nil` while it has not ended. The end is passed on after the value that is being delivered.
    var ending: Completion<Failure>?
    var isOver = false
  }

  private enum Step {
    case nothing
    case send(Output)
    case arm(MonotonicInstant)
    case finish(last: Output?, Completion<Failure>)
  }

  private let rate: Rate
  private let clock: any MonotonicTimeSource
  private let run: ActivationContext<Output, Failure>
  private let alarm: Alarm
  private let state = Guarded(State())

  init(_ rate: Rate, clock: any MonotonicTimeSource, run: ActivationContext<Output, Failure>) {
    self.rate = rate
    self.clock = clock
    self.run = run
    alarm = Alarm(clock: clock)
  }

  /// Subscribes to `upstream`. The limiter stops when the returned subscription is cancelled.
  func subscribe(to upstream: some Publisher<Output, Failure>) -> Subscription {
    let upstream = run.subscribe(
      to: upstream, receiveValue: { self.receive($0) }, receiveCompletion: { self.complete($0) })
    return Subscription {
      upstream.cancel()
      self.state.withLock { $0.isOver = true }
      self.alarm.end()
    }
  }

  private func receive(_ value: Output) {
    perform(
      state.withLock { state in
        if state.isOver { return .nothing }
        let now = clock.now
        state.waiting = value
        switch rate {
        case .every: if !state.isSending, isDue(state, now) { return send(&state) }
        case .afterQuiet(let quiet): state.notBefore = now + quiet
        }
        return arm(&state)
      })
  }

  private func complete(_ completion: Completion<Failure>) {
    perform(
      state.withLock { state in
        if state.isOver { return .nothing }
        state.ending = completion
        return state.isSending ? .nothing : finish(&state, completion)
      })
  }

  private func alarmWentOff() {
    perform(
      state.withLock { state in
        state.isArmed = false
        if state.isOver || state.isSending || state.waiting == nil { return .nothing }
        // If the alarm is late, a value may have been passed on or a new one may have arrived in the meantime.
        return isDue(state, clock.now) ? send(&state) : arm(&state)
      })
  }

  private func perform(_ step: Step) {
    switch step {
    case .nothing: break
    case .send(let value):
      // The time is taken as close to the delivery as possible, because the next value must not follow sooner than the
      // rate allows.
      let sentAt = clock.now
      run.send(value)
      perform(state.withLock { sent(&$0, at: sentAt) })
    case .arm(let deadline): alarm.set(at: deadline) { [weak self] in self?.alarmWentOff() }
    case .finish(let last, let completion):
      alarm.end()
      if let last { run.send(last) }
      run.finish(completion)
    }
  }

  // The following methods run under the lock. The caller performs the returned step after it has released the lock.

  private func isDue(_ state: State, _ now: MonotonicInstant) -> Bool { state.notBefore.map { now >= $0 } ?? true }

  private func send(_ state: inout State) -> Step {
    guard let value = state.waiting else { return .nothing }
    state.waiting = nil
    state.isSending = true
    return .send(value)
  }

  private func sent(_ state: inout State, at instant: MonotonicInstant) -> Step {
    state.isSending = false
    if case .every(let interval) = rate { state.notBefore = instant + interval }
    if state.isOver { return .nothing }
    if let ending = state.ending { return finish(&state, ending) }
    return arm(&state)
  }

  private func arm(_ state: inout State) -> Step {
    // While a value is being delivered, the time of the next one is not known.
    guard !state.isSending, !state.isArmed, state.waiting != nil, let notBefore = state.notBefore else {
      return .nothing
    }
    state.isArmed = true
    return .arm(notBefore)
  }

  private func finish(_ state: inout State, _ completion: Completion<Failure>) -> Step {
    state.isOver = true
    defer { state.waiting = nil }
    return .finish(last: state.waiting, completion)
  }
}

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
