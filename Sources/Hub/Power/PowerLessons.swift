import Devices
import MonotonicTime

/// Tells a device's book what its life teaches: what its starts take, and when its visitors come again.
struct PowerLessons: Sendable {
  private struct Start {
    var at: MonotonicInstant
    var milliwattHours: Double
    /// For how many seconds it had been off; `nil` where nobody knows.
    var off: Double?
    /// How it had rested, where that is chosen each time.
    var sleep: ReceiverSleep?
  }

  private struct Gap {
    var since: MonotonicInstant
    /// As it was learnt; `nil` for as the board file says.
    var lingerSeconds: Double?
  }

  /// Since when it rests; `nil` while it works, or where nobody knows.
  private(set) var offSince: MonotonicInstant?
  /// Until it measures.
  private var start: Start?
  /// While nobody is there.
  private var gap: Gap?

  /// Since when nobody has come; `nil` while somebody is there, or comes on a schedule.
  var awaySince: MonotonicInstant? { gap?.since }

  /// The machine was suspended, and the device rested on. A start that was under way teaches nothing.
  mutating func goBack(by slept: Duration) {
    offSince?.moveBack(by: slept)
    gap?.since.moveBack(by: slept)
    start = nil
  }

  /// - Parameters:
  ///   - milliwattHours: what the device has drawn until now
  ///   - sleep: how it has rested, where that is chosen each time
  mutating func required(at now: MonotonicInstant, _ milliwattHours: Double, after sleep: ReceiverSleep? = nil) {
    start = Start(
      at: now, milliwattHours: milliwattHours, off: offSince.map { now.seconds(since: $0) }, sleep: sleep)
    offSince = nil
  }

  /// - Parameter restWatts: what it would have drawn at rest
  mutating func tracking(at now: MonotonicInstant, _ milliwattHours: Double, restWatts: Double, _ book: PowerBook) {
    end(at: now, milliwattHours, restWatts, isComplete: true, book)
  }

  mutating func released(at now: MonotonicInstant, _ milliwattHours: Double, restWatts: Double, _ book: PowerBook) {
    // Who was not found a fix within his visit tells at least how long it takes.
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

  /// Whoever comes or goes on a schedule is no visitor: nothing is to be learnt of when he comes again.
  mutating func forgetGap() { gap = nil }

  /// - Parameter seconds: for how long it lingers as it was learnt; `nil` for as the board file says
  mutating func left(at now: MonotonicInstant, lingering seconds: Double?) {
    gap = Gap(since: now, lingerSeconds: seconds)
  }
}
