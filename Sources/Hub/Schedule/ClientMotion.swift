import MonotonicTime
import Publishing

/// The knowledge of one client with scheduled fixes about the motion of the board, from its subscription to the motion
/// detector.
///
/// The subscriptions are numbered, so that a report of an earlier subscription can be ignored.
struct ClientMotion: Sendable {
  /// If a board starts moving after it stood still for this long, it gets a new fix at once. A shorter stop is only a
  /// pause, as at a red light or between two waves. The next fix then comes when it is due.
  static let stand = Duration.seconds(60)

  /// The number of the subscription; `nil` if there is none.
  private(set) var watch: Int?
  /// The subscription. It is absent while another thread subscribes.
  private var subscription: Subscription?
  /// The detector's last report.
  private var state = MotionState.unknown

  var hasMoved: Bool { if case .moved = state { true } else { false } }

  /// Reserves a number for a subscription. Pass the subscription to `hold` once it exists.
  mutating func begin(_ watch: Int) { self.watch = watch }

  /// - Returns: `false` if the subscription has ended in the meantime, so that the caller must cancel it
  mutating func hold(_ subscription: Subscription, as watch: Int) -> Bool {
    guard self.watch == watch else { return false }
    self.subscription = subscription
    return true
  }

  /// Forgets the subscription and its last report.
  ///
  /// - Returns: the subscription, for the caller to cancel
  mutating func end() -> Subscription? {
    defer { self = ClientMotion() }
    return subscription
  }

  /// Handles a report of the present subscription.
  ///
  /// - Returns: whether the board starts moving after it stood still
  mutating func receive(_ report: MotionState) -> Bool {
    defer { state = report }
    guard case .moved(let at) = report, case .still(let since) = state else { return false }
    return at - since >= ClientMotion.stand
  }

  /// The time until which a fix may be repeated, because the board has not moved since the fix; `nil` if the client
  /// needs a new fix.
  func repeats(_ fix: ReusedFix?, for schedule: Schedule) -> MonotonicInstant? {
    guard schedule.takesReusedFix, case .still(let since) = state, let fix, fix.at >= since else { return nil }
    return fix.isGoodUntil(schedule)
  }
}
