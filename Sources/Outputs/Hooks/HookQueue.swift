import MonotonicTime

/// The undelivered notices of one hook, in order, and the time of the next attempt. After a failure it waits according
/// to `ReconnectBackoff`, and it never exceeds `rate` deliveries in a `window`.
struct HookQueue: Sendable {
  enum Next: Equatable {
    case deliver(HookNotice)
    case wait(until: MonotonicInstant)
    case nothing
  }

  /// The maximum number of notices; the oldest are dropped first.
  static let most = 64
  /// The maximum number of deliveries in one window.
  static let rate = 20
  static let window = Duration.seconds(600)

  private(set) var waiting: [HookNotice]
  private(set) var lostCount = 0
  /// The number of failed attempts to deliver the first notice.
  private(set) var failures = 0
  private var backoff = ReconnectBackoff()
  private var retryAt: MonotonicInstant?
  /// The times of the last deliveries.
  private var deliveries: [MonotonicInstant] = []

  init(_ waiting: [HookNotice] = []) { self.waiting = Array(waiting.suffix(HookQueue.most)) }

  /// - Returns: whether the oldest notice was dropped to make room
  mutating func add(_ notice: HookNotice) -> Bool {
    waiting.append(notice)
    guard waiting.count > HookQueue.most else { return false }
    waiting.removeFirst()
    lostCount += 1
    return true
  }

  mutating func next(at now: MonotonicInstant) -> Next {
    guard let first = waiting.first else { return .nothing }
    if let retryAt, now < retryAt { return .wait(until: retryAt) }
    deliveries.removeAll { now - $0 >= HookQueue.window }
    if deliveries.count >= HookQueue.rate, let oldest = deliveries.first {
      return .wait(until: oldest + HookQueue.window)
    }
    return .deliver(first)
  }

  /// Removes a notice that was delivered or given up.
  mutating func done(_ notice: HookNotice, at now: MonotonicInstant) {
    waiting.removeAll { $0.id == notice.id }
    deliveries.append(now)
    backoff.reset()
    (retryAt, failures) = (nil, 0)
  }

  /// Sets the time of the next try after a failed delivery.
  ///
  /// - Parameter isRefusal: whether a person must act, as in `HookOutcome.failed`; then the next try comes later
  mutating func failed(at now: MonotonicInstant, isRefusal: Bool) {
    failures += 1
    retryAt = now + (isRefusal ? backoff.afterRefusal() : backoff.next())
  }
}
