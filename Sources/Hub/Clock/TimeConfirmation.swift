import MonotonicTime
import NMEA

/// Whether a receiver knows the time.
///
/// Before it has a fix it states what its own clock remembers. After a cold start it may be whole seconds off, by the leap
/// seconds that its maker knew of, until it has heard the present number, which satellites tell every 12.5 minutes; after
/// a hot start it remembers that as well. One whose weeks have rolled over is years off for good.
struct TimeConfirmation {
  /// Epochs in a row that have to agree.
  private static let needed = 3
  /// By how much the arrival of an epoch may wander.
  private static let tolerance = 0.5
  /// By how much the system clock may be ahead of an epoch's time when it arrives, seconds: slow receivers take most of
  /// a second, and a leap second more or less has to show.
  private static let agreement = -0.3...0.9
  /// A receiver with a fix this soon after it was switched on has kept its memory.
  private static let hotStart = Duration.seconds(10)
  /// Satellites tell the leap seconds once in 12.5 minutes.
  private static let almanac = Duration.seconds(800)

  private let switchedOnAt: MonotonicInstant?
  private var count = 0
  private var last: (time: Int64, at: MonotonicInstant)?
  private var firstFixAt: MonotonicInstant?

  /// - Parameter switchedOnAt: `nil` where its supply has no switch: it may have had its fix long before it is listened to
  init(switchedOnAt: MonotonicInstant?) { self.switchedOnAt = switchedOnAt }

  /// Takes an epoch's time; returns whether it is confirmed.
  ///
  /// - Parameter system: the system clock, nanoseconds since 1970
  mutating func take(_ time: UTCTime?, isFix: Bool, at: MonotonicInstant, system: Int64) -> Bool {
    if isFix, firstFixAt == nil { firstFixAt = at }
    guard let time = time?.nanosecondsSince1970, isFix, time >= WeekRollover.release else {
      (count, last) = (0, nil)
      return false
    }
    let advance = last.map { Double(time - $0.time) / 1e9 - (at - $0.at).inSeconds }
    // The first has nothing to agree with.
    count = advance.map { abs($0) < TimeConfirmation.tolerance ? count + 1 : 1 } ?? 1
    last = (time, at)
    return count >= TimeConfirmation.needed && knowsLeapSeconds(time, at, system)
  }

  private func knowsLeapSeconds(_ time: Int64, _ at: MonotonicInstant, _ system: Int64) -> Bool {
    guard let firstFixAt else { return false }
    return switchedOnAt.map { firstFixAt - $0 <= TimeConfirmation.hotStart } ?? false
      || at - firstFixAt >= TimeConfirmation.almanac
      || TimeConfirmation.agreement.contains(Double(system - time) / 1e9)
  }
}
