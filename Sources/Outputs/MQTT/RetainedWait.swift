import MonotonicTime

/// Decides when a broker has said all that it has retained: it says so nowhere. It only decides; the clock and the connection are
/// somebody else's.
///
/// What is retained comes in one go with the broker's answer to the subscriptions. So it has all come when nothing has for a
/// moment, and the answer had before that; where other messages never pause, it has after a while.
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

  /// Until when to wait for what comes next; `nil` once all has come.
  ///
  /// - Parameter hasSubscribed: whether the broker has answered to the subscriptions, asked before it is waited for. Until it has
  ///   nothing has to have come: a network takes its time, and so does a broker with much to do
  public mutating func deadline(at now: MonotonicInstant, hasSubscribed: Bool) -> MonotonicInstant? {
    guard !isOver, now < end else { return nil }
    self.hasSubscribed = hasSubscribed
    return min(now + RetainedWait.pause, end)
  }

  /// The deadline has passed without a message. A connection that was lost meanwhile has to have its answer again.
  public mutating func nothingCame(hasSubscribed: Bool) { isOver = self.hasSubscribed && hasSubscribed }
}
