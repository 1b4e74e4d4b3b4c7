import MonotonicTime

/// What one hook has yet to deliver, in order, and when the next try is due: after a failure by the pace of all clients, and never
/// faster than its rate.
struct HookQueue: Sendable {
  enum Next: Equatable {
    case deliver(HookNotice)
    case wait(until: MonotonicInstant)
    case nothing
  }

  /// More than these are not kept: the oldest go first.
  static let most = 64
  /// So many are delivered within the window.
  static let rate = 20
  static let window = Duration.seconds(600)

  private(set) var waiting: [HookNotice]
  private(set) var lostCount = 0
  /// Tries of the first one that failed.
  private(set) var failures = 0
  private var pace = ReconnectPace()
  private var retryAt: MonotonicInstant?
  /// When the last ones were delivered.
  private var deliveries: [MonotonicInstant] = []

  init(_ waiting: [HookNotice] = []) { self.waiting = Array(waiting.suffix(HookQueue.most)) }

  /// - Returns: whether another one was lost for it
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

  /// It was delivered, or is given up.
  mutating func done(_ notice: HookNotice, at now: MonotonicInstant) {
    waiting.removeAll { $0.id == notice.id }
    deliveries.append(now)
    pace.reset()
    (retryAt, failures) = (nil, 0)
  }

  /// - Parameter isRefusal: the receiver is there, and does not take it
  mutating func failed(at now: MonotonicInstant, isRefusal: Bool) {
    failures += 1
    retryAt = now + (isRefusal ? pace.afterRefusal() : pace.next())
  }
}
