import Guarding
import MonotonicTime
import Synchronization

/// The number of consecutive failures, kept across subscriptions. If a subscription ended with failures, the next one
/// continues with the delay that the last one had reached.
public final class FailureCount: Sendable {
  private let count = Guarded(0)
  /// Whether a value has arrived since the last failure. If so, the next failure resets the count. The flag is atomic,
  /// so that values need no lock.
  private let isHealthy = Atomic(false)

  public init() {}

  fileprivate func sawValue() {
    if !isHealthy.load(ordering: .relaxed) { isHealthy.store(true, ordering: .relaxed) }
  }

  /// Counts a failure. Returns the number of consecutive failures.
  fileprivate func failed() -> Int {
    count.withLock { count in
      if isHealthy.exchange(false, ordering: .relaxed) { count = 0 }
      count += 1
      return count
    }
  }
}

extension Publisher {
  /// Subscribes again after a failure. The delay starts at the backoff's initial one and grows, up to its maximum, with
  /// each failure that follows without a value in between. If `hint` sends a value during the delay, the publisher
  /// retries immediately.
  ///
  /// ```swift
  /// let backoff = Backoff(initial: .seconds(1), maximum: .seconds(60))
  /// let fixes = receiver.fixes.retrying(backoff, hint: deviceAppeared)
  /// ```
  public func retrying(
    _ backoff: Backoff, hint: some Publisher<some Sendable, Never>, clock: any MonotonicTimeSource = MonotonicClock()
  ) -> Deferred<Output, Never> {
    retrying({ _ in backoff }, hint: hint, clock: clock)
  }

  /// Like `retrying(_:hint:clock:)`, with a backoff that depends on the failure.
  ///
  /// - Parameter failures: a count to continue across subscriptions; by default each subscriber starts a count of its
  ///   own. The first attempt is always immediate
  public func retrying(
    _ backoff: @escaping @Sendable (Failure) -> Backoff, hint: some Publisher<some Sendable, Never>,
    failures: FailureCount? = nil, clock: any MonotonicTimeSource = MonotonicClock()
  ) -> Deferred<Output, Never> {
    Deferred.deriving { (run) throws(Never) in
      let retry = Retry(
        upstream: self, backoff: backoff, failures: failures ?? FailureCount(), clock: clock, run: run)
      let hints = hint.subscribe(as: "retry", receiveValue: { [weak retry] _ in retry?.tryNow() })
      retry.start()
      return Subscription {
        hints.cancel()
        retry.end()
      }
    }
  }
}

private final class Retry<Upstream: Publisher>: Sendable {
  private struct State {
    /// When to retry if no hint comes first; `nil` if no retry waits.
    var retryAt: MonotonicInstant?
    var isOver = false
  }

  private let upstream: Upstream
  private let backoff: @Sendable (Upstream.Failure) -> Backoff
  private let failures: FailureCount
  private let clock: any MonotonicTimeSource
  private let alarm: Alarm
  private let run: ActivationContext<Upstream.Output, Never>
  private let current = CurrentSubscription(isExpected: true)
  private let state = Guarded(State())

  init(
    upstream: Upstream, backoff: @escaping @Sendable (Upstream.Failure) -> Backoff, failures: FailureCount,
    clock: any MonotonicTimeSource, run: ActivationContext<Upstream.Output, Never>
  ) {
    self.upstream = upstream
    self.backoff = backoff
    self.failures = failures
    self.clock = clock
    alarm = Alarm(clock: clock)
    self.run = run
  }

  func start() {
    current.replace { link in
      upstream.subscribe(
        as: run.holders,
        receiveValue: { [failures, run] value in
          failures.sawValue()
          run.send(value)
        },
        receiveCompletion: { [weak self] completion in
          guard link.complete() != nil else { return }
          switch completion {
          case .finished: self?.run.finish(.finished)
          case .failed(let failure): self?.failed(failure)
          }
        })
    }
  }

  /// Ends the wait and tries again.
  func tryNow() {
    guard takeWait(until: nil) else { return }
    alarm.cancel()
    start()
  }

  /// Ends the wait, if there is one.
  ///
  /// - Parameter now: if given, ends the wait only if its time has passed
  /// - Returns: whether a wait ended
  private func takeWait(until now: MonotonicInstant?) -> Bool {
    state.withLock { state in
      guard let retryAt = state.retryAt, !state.isOver, now.map({ retryAt <= $0 }) ?? true else { return false }
      state.retryAt = nil
      return true
    }
  }

  func end() {
    state.withLock { $0.isOver = true }
    alarm.end()
    current.end()
  }

  private func failed(_ failure: Upstream.Failure) {
    let count = failures.failed()
    state.withLock { $0.retryAt = clock.now + backoff(failure).delay(afterFailures: count) }
    setAlarm()
  }

  private func setAlarm() {
    alarm.set(asking: { state.withLock { $0.isOver ? nil : $0.retryAt } }) { [weak self] in self?.alarmWentOff() }
  }

  private func alarmWentOff() {
    // A hint may have ended the wait just as the alarm went off, and the next wait may have begun.
    if takeWait(until: clock.now) { start() } else { setAlarm() }
  }
}
