import MonotonicTime

/// How often one client may change what it holds: some times at once, and then steadily (a token bucket).
struct RequestPace {
  /// So many changes at once.
  static let burst = 20.0
  /// So many a second from there on.
  static let perSecond = 4.0

  private var left = RequestPace.burst
  private var at: MonotonicInstant

  init(from start: MonotonicInstant) { at = start }

  /// Takes the right to one change; `false` where it has to wait.
  mutating func take(at now: MonotonicInstant) -> Bool {
    left = min(RequestPace.burst, left + max(0, now.seconds(since: at)) * RequestPace.perSecond)
    at = max(at, now)
    guard left >= 1 else { return false }
    left -= 1
    return true
  }

  /// When the next change is due, after one that had to wait.
  var next: MonotonicInstant { at + .nanoseconds(Int64((1 - left) / RequestPace.perSecond * 1e9) + 1) }
}
