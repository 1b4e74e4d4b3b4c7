import Guarding
import MonotonicTime

/// Passes the first lines of a period and counts the rest; at its end, the rest is summarized.
final class RepeatedLines: Sendable {
  private struct State {
    /// When the present while began.
    var since: MonotonicInstant?
    var admitted = 0
    var heldBack = 0
  }

  private let limit: Int
  private let window: Duration
  private let clock: any MonotonicTimeSource
  private let sumUp: @Sendable (_ count: Int) -> Void
  private let state = Guarded(State())

  /// - Parameters:
  ///   - limit: how many lines may be written
  ///   - window: within which time, from the first of them on
  ///   - sumUp: told at its end how many more there were; not called where there were none
  init(
    limit: Int, within window: Duration, clock: any MonotonicTimeSource,
    sumUp: @escaping @Sendable (_ count: Int) -> Void
  ) {
    self.limit = limit
    self.window = window
    self.clock = clock
    self.sumUp = sumUp
  }

  /// Whether a line is written now; otherwise it has been counted.
  func admit() -> Bool {
    let now = clock.now
    let (isAdmitted, deadline): (Bool, MonotonicInstant?) = state.withLock { state in
      let since = state.since ?? now
      // The counted lines are summarized before another period begins, however late the clock is.
      if state.heldBack == 0, now - since >= window {
        state = State(since: now)
      } else {
        state.since = since
      }
      if state.admitted < limit, state.heldBack == 0 {
        state.admitted += 1
        return (true, nil)
      }
      state.heldBack += 1
      return (false, state.heldBack == 1 ? since + window : nil)
    }
    if let deadline { _ = clock.schedule(at: deadline) { [self] in finish() } }
    return isAdmitted
  }

  private func finish() {
    let count = state.withLock { state in
      defer { state = State() }
      return state.heldBack
    }
    if count > 0 { sumUp(count) }
  }
}
