import Guarding
import MonotonicTime

/// Combines requests for an action: the action runs once, at a fixed delay after the first request, for all requests
/// that came until then.
final class Coalesced: Sendable {
  private struct State {
    var timer: ScheduledAction?
    var isWaiting = false
    var isOver = false
  }

  private let delay: Duration
  private let clock: any MonotonicTimeSource
  private let action: @Sendable () -> Void
  private let state = Guarded(State())

  init(_ delay: Duration, clock: any MonotonicTimeSource, _ action: @escaping @Sendable () -> Void) {
    self.delay = delay
    self.clock = clock
    self.action = action
  }

  func request() {
    let isFirst = state.withLock { state in
      defer { state.isWaiting = true }
      return !state.isWaiting && !state.isOver
    }
    guard isFirst else { return }
    let timer = clock.schedule(at: clock.now + delay) { [weak self] in self?.perform() }
    let isTooLate = state.withLock { state in
      state.timer = timer
      return state.isOver
    }
    if isTooLate { timer.cancel() }
  }

  private func perform() {
    let isOver = state.withLock { state in
      state.isWaiting = false
      return state.isOver
    }
    if !isOver { action() }
  }

  func end() {
    let timer = state.withLock { state in
      state.isOver = true
      return state.timer
    }
    timer?.cancel()
  }
}
