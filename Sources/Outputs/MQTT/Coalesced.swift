import Guarding
import MonotonicTime

/// Combines requests for an action: the action runs once, at a fixed delay after the first request, for all requests
/// that came until then.
final class Coalesced: Sendable {
  private let delay: Duration
  private let clock: any MonotonicTimeSource
  private let action: @Sendable () -> Void
  private let alarm: Alarm
  private let isWaiting = Guarded(false)

  init(_ delay: Duration, clock: any MonotonicTimeSource, _ action: @escaping @Sendable () -> Void) {
    self.delay = delay
    self.clock = clock
    self.action = action
    alarm = Alarm(clock: clock)
  }

  func request() {
    let isFirst = isWaiting.withLock { isWaiting in
      defer { isWaiting = true }
      return !isWaiting
    }
    guard isFirst else { return }
    alarm.set(at: clock.now + delay) { [weak self] in self?.perform() }
  }

  private func perform() {
    isWaiting.withLock { $0 = false }
    action()
  }

  func end() { alarm.end() }
}
