import Guarding
import MonotonicTime

extension Publisher {
  /// At most one value per interval: the first at once, then the latest one at the end of each interval. The last
  /// value is never lost: it comes when its interval ends, or before the completion.
  ///
  /// Each subscriber has its own pace. Nothing waits while nothing comes.
  public func throttled(
    to interval: Duration, clock: any MonotonicTimeSource = MonotonicClock()
  ) -> Deferred<Output, Failure> {
    Deferred { (subscriber, run) throws(Failure) in
      let throttle = Throttle(interval: interval, clock: clock, run: run)
      let upstream = subscribe(
        as: subscriber, receiveValue: { throttle.receive($0) }, receiveCompletion: { throttle.complete($0) })
      return Subscription {
        upstream.cancel()
        throttle.cancel()
      }
    }
  }
}

private final class Throttle<Output: Sendable, Failure: Error>: Sendable {
  private struct State {
    var nextAt: MonotonicInstant?
    var waiting: Output?
    /// Armed, or about to be.
    var isArmed = false
    var timer: ScheduledAction?
  }

  private let interval: Duration
  private let clock: any MonotonicTimeSource
  private let run: Activating<Output, Failure>
  private let state = Guarded(State())

  init(interval: Duration, clock: any MonotonicTimeSource, run: Activating<Output, Failure>) {
    self.interval = interval
    self.clock = clock
    self.run = run
  }

  func receive(_ value: Output) {
    var due: MonotonicInstant?
    let mustDeliver = state.withLock { state in
      let now = clock.now
      if let nextAt = state.nextAt, now < nextAt {
        state.waiting = value
        if !state.isArmed { due = nextAt }
        state.isArmed = true
        return false
      }
      // A timer that is late finds nothing left to send.
      state.waiting = nil
      state.nextAt = now + interval
      return run.stage(value)
    }
    if mustDeliver { run.deliver() }
    if let due { arm(due) }
  }

  func complete(_ completion: Completion<Failure>) {
    sendWaiting(at: nil)
    cancel()
    run.finish(completion)
  }

  func cancel() {
    let timer = state.withLock { state in
      // No timer is armed any more.
      state.isArmed = true
      defer { state.timer = nil }
      return state.timer
    }
    timer?.cancel()
  }

  private func arm(_ deadline: MonotonicInstant) {
    let timer = clock.schedule(at: deadline) { [weak self] in self?.sendWaiting(at: deadline) }
    state.withLock { if $0.isArmed, $0.waiting != nil { $0.timer = timer } }
  }

  private func sendWaiting(at deadline: MonotonicInstant?) {
    let mustDeliver = state.withLock { state in
      if deadline != nil {
        state.timer = nil
        state.isArmed = false
      }
      guard let value = state.waiting else { return false }
      state.waiting = nil
      // Counted from when it was due, not from when the timer got round to it: the pace does not drift.
      if let deadline { state.nextAt = deadline + interval }
      return run.stage(value)
    }
    if mustDeliver { run.deliver() }
  }
}
