import MonotonicTime

/// Decides when to ask a receiver on an I2C bus whether bytes wait in it, because it cannot signal that.
///
/// The receiver reports in bursts. Close to the expected start of the next burst, the hub asks often, so that the
/// arrival of the first byte is known to a few milliseconds. Between two bursts, it asks rarely.
struct ReceiverPollRate: Equatable, Sendable {
  /// The interval while the period of the bursts is unknown.
  static let usual = Duration.milliseconds(20)
  /// The interval close to an expected burst, and after a command, whose answer comes at once.
  static let frequent = Duration.milliseconds(5)
  /// The longest interval. Messages that the receiver sends without a request may wait for this time.
  static let rare = Duration.milliseconds(50)
  /// How much earlier and later than expected a burst may begin.
  private static let margin = (early: Duration.milliseconds(10), late: Duration.milliseconds(30))
  /// The time after a command in which its answer is expected.
  private static let answerTime = Duration.milliseconds(300)

  /// The time between the starts of two bursts; `nil` if unknown.
  var period: Duration?
  private var burstBeganAt: MonotonicInstant?
  private var bytesCameAt: MonotonicInstant?
  private var spokeAt: MonotonicInstant?

  init() {}

  /// Records that bytes have waited in the receiver.
  mutating func bytesCame(at now: MonotonicInstant) {
    let isSameBurst = bytesCameAt.map { now - $0 < (period ?? .seconds(1)) / 4 } ?? false
    if !isSameBurst { burstBeganAt = now }
    bytesCameAt = now
  }

  /// Records that a command was sent to the receiver.
  mutating func spoke(at now: MonotonicInstant) { spokeAt = now }

  /// When to ask next, if no bytes wait now.
  func next(after now: MonotonicInstant) -> MonotonicInstant {
    if let spokeAt, now - spokeAt < ReceiverPollRate.answerTime { return now + ReceiverPollRate.frequent }
    guard let period else { return now + ReceiverPollRate.usual }
    let interval = min(max(period / 10, ReceiverPollRate.frequent), ReceiverPollRate.rare)
    guard let burstBeganAt else { return now + interval }
    let expected = burstBeganAt + period
    let early = burstBeganAt + (period - ReceiverPollRate.margin.early)
    if now < early { return min(now + interval, early) }
    return now + (now < expected + ReceiverPollRate.margin.late ? ReceiverPollRate.frequent : interval)
  }
}
