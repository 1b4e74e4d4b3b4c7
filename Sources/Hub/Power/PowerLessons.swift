import Devices
import MonotonicTime

/// Tells a device's book what its life teaches: what its starts take, and when its visitors come again.
struct PowerLessons: Sendable {
  private struct Start {
    var at: MonotonicInstant
    var milliwattHours: Double
    /// The seconds for which it had been off; `nil` if unknown.
    var off: Double?
    /// Its kind of rest before, if that is chosen each time.
    var sleep: ReceiverSleep?
  }

  private struct Gap {
    var since: MonotonicInstant
    /// As it was learnt; `nil` for as the board file says.
    var lingerSeconds: Double?
  }

  /// The start of its rest; `nil` while it works, or if unknown.
  private(set) var offSince: MonotonicInstant?
  /// Until it measures.
  private var start: Start?
  /// While there is no visitor.
  private var gap: Gap?

  /// The time since the last visitor; `nil` while there is one, or if visits are scheduled.
  var awaySince: MonotonicInstant? { gap?.since }

  /// The machine was suspended, and the device rested on. A start that was under way teaches nothing.
  mutating func goBack(by slept: Duration) {
    offSince?.moveBack(by: slept)
    gap?.since.moveBack(by: slept)
    start = nil
  }

  /// - Parameters:
  ///   - milliwattHours: the device's energy until now
  ///   - sleep: its kind of rest before, if that is chosen each time
  mutating func required(at now: MonotonicInstant, _ milliwattHours: Double, after sleep: ReceiverSleep? = nil) {
    start = Start(
      at: now, milliwattHours: milliwattHours, off: offSince.map { now.seconds(since: $0) }, sleep: sleep)
    offSince = nil
  }

  /// - Parameter restWatts: its power at rest
  mutating func tracking(at now: MonotonicInstant, _ milliwattHours: Double, restWatts: Double, _ book: PowerBook) {
    end(at: now, milliwattHours, restWatts, isComplete: true, book)
  }

  mutating func released(at now: MonotonicInstant, _ milliwattHours: Double, restWatts: Double, _ book: PowerBook) {
    // A visit without a fix shows at least a lower bound.
    end(at: now, milliwattHours, restWatts, isComplete: false, book)
    offSince = now
  }

  private mutating func end(
    at now: MonotonicInstant, _ milliwattHours: Double, _ restWatts: Double, isComplete: Bool, _ book: PowerBook
  ) {
    guard let start else { return }
    self.start = nil
    guard let off = start.off else { return }
    let seconds = now.seconds(since: start.at)
    let joules = max(0, 3.6 * (milliwattHours - start.milliwattHours) - restWatts * seconds)
    book.learn { $0.restarted(after: off, joules: joules, seconds: seconds, isComplete: isComplete) }
    guard let sleep = start.sleep else { return }
    book.learnStart(behind: sleep) {
      $0.started(after: off, joules: joules, seconds: seconds, isComplete: isComplete)
    }
  }

  mutating func came(at now: MonotonicInstant, _ costs: LearnedLinger.Costs, _ book: PowerBook) {
    guard let gap else { return }
    self.gap = nil
    book.learn { $0.visited(after: now.seconds(since: gap.since), lingered: gap.lingerSeconds, costs) }
  }

  /// A scheduled visit teaches nothing about the times of other visits.
  mutating func forgetGap() { gap = nil }

  /// - Parameter seconds: for how long it lingers as it was learnt; `nil` for as the board file says
  mutating func left(at now: MonotonicInstant, lingering seconds: Double?) {
    gap = Gap(since: now, lingerSeconds: seconds)
  }
}
