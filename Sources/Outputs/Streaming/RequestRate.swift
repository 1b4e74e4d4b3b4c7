import MonotonicTime

/// Limits how often one client may change its leases: a burst of changes at once, and then a steady rate (a token
/// bucket).
struct RequestRate {
  /// The number of changes that are allowed at once.
  static let burst = 20.0
  /// The number of changes per second after that.
  static let perSecond = 4.0

  private var left = RequestRate.burst
  private var at: MonotonicInstant

  init(from start: MonotonicInstant) { at = start }

  /// Takes one change from the permitted number; `false` if the client must wait.
  mutating func take(at now: MonotonicInstant) -> Bool {
    left = min(RequestRate.burst, left + max(0, now.seconds(since: at)) * RequestRate.perSecond)
    at = max(at, now)
    guard left >= 1 else { return false }
    left -= 1
    return true
  }

  /// When the next change is allowed, if the last one was not.
  var next: MonotonicInstant { at + .nanoseconds(Int64((1 - left) / RequestRate.perSecond * 1e9) + 1) }
}
