import Guarding
import MonotonicTime

/// Limits the rate of similar log lines. It admits the first lines of a period and counts the further ones. At the end
/// of the period it reports their count.
final class RepeatedLines: Sendable {
  private struct State {
    /// When the present period began.
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
  ///   - limit: the maximum number of lines in a period
  ///   - window: the length of a period, from its first line
  ///   - sumUp: called at the end of a period with the number of further lines; not called if there were none
  init(
    limit: Int, within window: Duration, clock: any MonotonicTimeSource,
    sumUp: @escaping @Sendable (_ count: Int) -> Void
  ) {
    self.limit = limit
    self.window = window
    self.clock = clock
    self.sumUp = sumUp
  }

  /// Whether to write a line now. If not, the line is counted.
  func admit() -> Bool {
    let now = clock.now
    let (isAdmitted, deadline): (Bool, MonotonicInstant?) = state.withLock { state in
      let since = state.since ?? now
      // The counted lines are summarised before another period begins, even if the timer is late.
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
