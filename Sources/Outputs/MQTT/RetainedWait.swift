import MonotonicTime

/// Decides when a broker has sent all its retained messages, which it does not announce. It only decides; the clock and
/// the connection belong to its caller.
///
/// Retained messages come together with the broker's answer to the subscriptions. So all have come when nothing has
/// arrived for a moment, and the answer came before that; if other messages never pause, a longer time decides.
public struct RetainedWait: Sendable {
  /// Without a message, after the answer.
  static let pause = Duration.milliseconds(500)
  /// Where messages come without a pause.
  static let patience = Duration.seconds(5)

  private let end: MonotonicInstant
  private var hasSubscribed = false
  private var isOver = false

  /// - Parameter now: when the broker was reached
  public init(from now: MonotonicInstant) { end = now + RetainedWait.patience }

  /// The deadline of the wait for the next message; `nil` once all have come.
  ///
  /// - Parameter hasSubscribed: whether the broker has answered the subscriptions, checked before the wait. Until then
  ///   nothing need have come: a network takes its time, and so does a busy broker
  public mutating func deadline(at now: MonotonicInstant, hasSubscribed: Bool) -> MonotonicInstant? {
    guard !isOver, now < end else { return nil }
    self.hasSubscribed = hasSubscribed
    return min(now + RetainedWait.pause, end)
  }

  /// The deadline has passed without a message. A connection that was lost in the meantime must get its answer again.
  public mutating func nothingCame(hasSubscribed: Bool) { isOver = self.hasSubscribed && hasSubscribed }
}
