import Guarding
import MonotonicTime

extension Publisher {
  /// Collects values, and publishes them in quick succession once the first of them has waited for the interval.
  ///
  /// ```swift
  /// let hourly = fixes.batched(over: .seconds(3600), atMost: 64)  // the consumer wakes once an hour
  /// ```
  ///
  /// No value is lost while the subscription lasts: a full batch is published early, and the remaining values are
  /// published right before the completion. Each subscriber has its own timer, which runs only while values wait.
  ///
  /// - Parameter count: the number of waiting values that makes a batch full
  public func batched(
    over interval: Duration, atMost count: Int, clock: any MonotonicTimeSource = MonotonicClock()
  ) -> Deferred<Output, Failure> {
    Deferred.deriving { (run) throws(Failure) in
      Batcher(interval, count, clock: clock, run: run).subscribe(to: self)
    }
  }
}

/// Keeps values until the first of them has waited for the interval, `limit` values wait, or upstream has ended.
private final class Batcher<Output: Sendable, Failure: Error>: Sendable {
  private struct State {
    var waiting: [Output] = []
    /// Whether the alarm is set or about to be.
    var isArmed = false
    /// When the values that the alarm is set for are due.
    var dueAt: MonotonicInstant?
    /// Whether a thread is delivering. That thread calls `next` again after its delivery.
    var isSending = false
    /// Whether the waiting values are due.
    var isDue = false
    var ending: Completion<Failure>?
    var isOver = false
  }

  private enum Step {
    case nothing
    case send([Output])
    case arm
    case finish(Completion<Failure>)
  }

  private let interval: Duration
  private let limit: Int
  private let clock: any MonotonicTimeSource
  private let run: ActivationContext<Output, Failure>
  private let alarm: Alarm
  private let state = Guarded(State())

  init(_ interval: Duration, _ limit: Int, clock: any MonotonicTimeSource, run: ActivationContext<Output, Failure>) {
    self.interval = interval
    self.limit = max(1, limit)
    self.clock = clock
    self.run = run
    alarm = Alarm(clock: clock)
  }

  /// Subscribes to `upstream`. Waiting values are dropped when the returned subscription is cancelled.
  func subscribe(to upstream: some Publisher<Output, Failure>) -> Subscription {
    let resumes = clock.onResume { [weak self] in self?.resume(after: $0) }
    let upstream = run.subscribe(
      to: upstream, receiveValue: { self.receive($0) }, receiveCompletion: { self.complete($0) })
    return Subscription {
      resumes.end()
      upstream.cancel()
      self.state.withLock { state in
        state.isOver = true
        state.waiting = []
      }
      self.alarm.end()
    }
  }

  private func receive(_ value: Output) {
    perform(
      state.withLock { state in
        if state.isOver { return .nothing }
        state.waiting.append(value)
        if state.waiting.count >= limit { state.isDue = true }
        return next(&state)
      })
  }

  private func complete(_ completion: Completion<Failure>) {
    perform(
      state.withLock { state in
        if state.isOver { return .nothing }
        state.ending = completion
        return next(&state)
      })
  }

  /// Makes waiting values due earlier by the duration of a suspension. The clock stood still in the meantime, and a
  /// machine that sleeps between two values would otherwise hold them for days.
  private func resume(after slept: Duration) {
    let isWaiting = state.withLock { state in
      state.dueAt?.moveBack(by: slept)
      return state.isArmed
    }
    if isWaiting { setAlarm() }
  }

  private func setAlarm() {
    alarm.set(asking: { state.withLock { $0.isArmed && !$0.isSending ? $0.dueAt : nil } }) {
      [weak self] in self?.alarmWentOff()
    }
  }

  private func alarmWentOff() {
    perform(
      state.withLock { state in
        state.isArmed = false
        if !state.waiting.isEmpty { state.isDue = true }
        return next(&state)
      })
  }

  /// Decides the next step. Runs under the lock; the caller performs the step after it has released the lock.
  private func next(_ state: inout State) -> Step {
    if state.isOver || state.isSending { return .nothing }
    if !state.waiting.isEmpty, state.isDue || state.ending != nil {
      (state.isSending, state.isDue) = (true, false)
      defer { state.waiting = [] }
      return .send(state.waiting)
    }
    if let ending = state.ending {
      state.isOver = true
      return .finish(ending)
    }
    if state.waiting.isEmpty || state.isArmed { return .nothing }
    (state.isArmed, state.dueAt) = (true, clock.now + interval)
    return .arm
  }

  private func perform(_ first: Step) {
    var step = first
    while true {
      switch step {
      case .nothing: return
      case .send(let values):
        // If the alarm is still set, it was set for this batch, so it is cancelled.
        alarm.cancel()
        for value in values { run.send(value) }
        step = state.withLock { state in
          (state.isSending, state.isArmed) = (false, false)
          return next(&state)
        }
      case .arm: return setAlarm()
      case .finish(let completion):
        alarm.end()
        return run.finish(completion)
      }
    }
  }
}
