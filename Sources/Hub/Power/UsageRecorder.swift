import Devices
import MonotonicTime

/// An event from which a device's usage history learns.
enum UsageEvent: Equatable, Sendable {
  /// The device measured after a start, or the start was given up.
  ///
  /// - Parameters:
  ///   - off: the seconds that the device had been off
  ///   - isComplete: `false` if the start was given up, so that it would have cost more
  ///   - sleep: the sleep mode before the start, if modes are chosen
  case started(off: Double, joules: Double, seconds: Double, isComplete: Bool, sleep: ReceiverSleep?)
  /// A client came after a gap.
  ///
  /// - Parameters:
  ///   - gap: the seconds without a client
  ///   - lingered: the learned idle timeout, seconds; `nil` if the board file's applied
  case visited(gap: Double, lingered: Double?, LearnedIdleTimeout.Costs)
}

/// Measures the costs of a device's starts and the gaps between its clients, from which its usage history learns.
struct UsageRecorder: Sendable {
  private struct Start {
    var at: MonotonicInstant
    var milliwattHours: Double
    /// The start of the rest before it; `nil` if unknown.
    var offSince: MonotonicInstant?
    /// The sleep mode before the start, if modes are chosen.
    var sleep: ReceiverSleep?
  }

  private struct Gap {
    var since: MonotonicInstant
    /// The learned idle timeout; `nil` if the board file's applies.
    var idleTimeoutSeconds: Double?
  }

  /// The start of the rest; `nil` while the device works, or if unknown.
  private(set) var offSince: MonotonicInstant?
  /// The start in progress, until the device measures.
  private var start: Start?
  /// The gap in progress, while there is no client.
  private var gap: Gap?

  /// When the last client left; `nil` while a client is there, or if the last one was a schedule.
  var awaySince: MonotonicInstant? { gap?.since }

  /// Makes the stored times earlier by the duration of a suspension, because the device continued to rest during it. A
  /// start in progress is not counted.
  mutating func goBack(by slept: Duration) {
    offSince?.moveBack(by: slept)
    gap?.since.moveBack(by: slept)
    start = nil
  }

  /// Records that the device has rested since an instant before this run of the hub. A rest or start that the run has
  /// seen counts instead.
  mutating func rested(since instant: MonotonicInstant) {
    if offSince == nil, start == nil { offSince = instant }
  }

  /// - Parameters:
  ///   - milliwattHours: the device's energy up to now
  ///   - sleep: the sleep mode before the start, if modes are chosen
  mutating func required(at now: MonotonicInstant, _ milliwattHours: Double, after sleep: ReceiverSleep? = nil) {
    start = Start(at: now, milliwattHours: milliwattHours, offSince: offSince, sleep: sleep)
    offSince = nil
  }

  /// - Parameter restWatts: the device's power at rest
  mutating func tracking(at now: MonotonicInstant, _ milliwattHours: Double, restWatts: Double) -> UsageEvent? {
    endOfStart(at: now, milliwattHours, restWatts, isComplete: true)
  }

  mutating func released(at now: MonotonicInstant, _ milliwattHours: Double, restWatts: Double) -> UsageEvent? {
    defer { offSince = now }
    // A start without a fix still shows a lower bound of its cost.
    return endOfStart(at: now, milliwattHours, restWatts, isComplete: false)
  }

  /// Records that a start has ended without an answer of the device. It says nothing about the cost of a start, and the
  /// rest before it goes on.
  mutating func abandoned(at now: MonotonicInstant) {
    if let start { offSince = start.offSince } else { offSince = now }
    start = nil
  }

  private mutating func endOfStart(
    at now: MonotonicInstant, _ milliwattHours: Double, _ restWatts: Double, isComplete: Bool
  ) -> UsageEvent? {
    guard let start else { return nil }
    self.start = nil
    guard let off = start.offSince.map({ start.at.seconds(since: $0) }) else { return nil }
    let seconds = now.seconds(since: start.at)
    let joules = max(0, 3.6 * (milliwattHours - start.milliwattHours) - restWatts * seconds)
    return .started(off: off, joules: joules, seconds: seconds, isComplete: isComplete, sleep: start.sleep)
  }

  mutating func came(at now: MonotonicInstant, _ costs: LearnedIdleTimeout.Costs) -> UsageEvent? {
    guard let gap else { return nil }
    self.gap = nil
    return .visited(gap: now.seconds(since: gap.since), lingered: gap.idleTimeoutSeconds, costs)
  }

  /// Forgets the present gap, because a scheduled fix shows nothing about the gaps between other clients.
  mutating func forgetGap() { gap = nil }

  /// - Parameter seconds: the learned idle timeout; `nil` if the board file's applies
  mutating func left(at now: MonotonicInstant, lingering seconds: Double?) {
    gap = Gap(since: now, idleTimeoutSeconds: seconds)
  }
}
