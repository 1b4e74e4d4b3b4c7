import MonotonicTime

/// Decides when a broker has sent all its retained messages, which brokers do not announce. The caller provides the
/// clock and the connection.
///
/// Retained messages come together with the broker's answer to the subscriptions. All have arrived if the answer has
/// come and then no message arrives for `pause`. If other messages arrive without such a pause, the wait ends after
/// `patience`.
public struct RetainedWait: Sendable {
  /// After this time without a message since the answer, all retained messages have arrived.
  static let pause = Duration.milliseconds(500)
  /// The longest wait if messages never pause.
  static let patience = Duration.seconds(5)

  private let end: MonotonicInstant
  private var hasSubscribed = false
  private var isOver = false

  /// - Parameter now: when the broker was reached
  public init(from now: MonotonicInstant) { end = now + RetainedWait.patience }

  /// The deadline of the wait for the next message; `nil` once all retained messages have arrived.
  ///
  /// - Parameter hasSubscribed: whether the broker has answered the subscriptions, checked before the wait. Before
  ///   the answer, silence only means that the network or the broker is slow
  public mutating func deadline(at now: MonotonicInstant, hasSubscribed: Bool) -> MonotonicInstant? {
    guard !isOver, now < end else { return nil }
    self.hasSubscribed = hasSubscribed
    return min(now + RetainedWait.pause, end)
  }

  /// Call this when the deadline has passed without a message. If the connection was lost in the meantime, the wait
  /// continues until the broker answers again.
  public mutating func nothingCame(hasSubscribed: Bool) { isOver = self.hasSubscribed && hasSubscribed }
}
