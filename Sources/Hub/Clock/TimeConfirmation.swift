import MonotonicTime
import NMEA

/// Decides whether a receiver knows the time.
///
/// Before its first fix, a receiver states the time of its own clock. After a cold start this time may be wrong by
/// whole seconds. The receiver uses the number of leap seconds in its firmware until it has received the current
/// number, which satellites send every 12.5 minutes. After a hot start it still has the current number. A receiver
/// whose week number has rolled over is permanently wrong by years.
struct TimeConfirmation {
  /// The number of consecutive epochs that must agree.
  private static let needed = 3
  /// How much the arrival of an epoch may vary, seconds.
  private static let tolerance = 0.5
  /// How far the system clock may be ahead of an epoch's time at its arrival, seconds. Slow receivers take most of a
  /// second, and an error of one leap second must still show.
  private static let agreement = -0.3...0.9
  /// A receiver with a fix within this time after it was switched on has kept its memory.
  private static let hotStart = Duration.seconds(10)
  /// The longest time until satellites have sent the leap seconds, which they repeat every 12.5 minutes.
  private static let almanac = Duration.seconds(800)

  private let switchedOnAt: MonotonicInstant?
  private var count = 0
  private var last: (time: Int64, at: MonotonicInstant)?
  private var firstFixAt: MonotonicInstant?

  /// - Parameter switchedOnAt: when the supply was switched on; `nil` if it has no switch, so that the receiver may
  ///   have had a fix long before
  init(switchedOnAt: MonotonicInstant?) { self.switchedOnAt = switchedOnAt }

  /// Processes an epoch's time.
  ///
  /// - Parameter system: the system clock, nanoseconds since 1970
  /// - Returns: whether the time is confirmed
  mutating func take(_ time: UTCTime?, isFix: Bool, at: MonotonicInstant, system: Int64) -> Bool {
    if isFix, firstFixAt == nil { firstFixAt = at }
    guard let time = time?.nanosecondsSince1970, isFix, time >= WeekRollover.release else {
      (count, last) = (0, nil)
      return false
    }
    let advance = last.map { Double(time - $0.time) / 1e9 - (at - $0.at).inSeconds }
    // The first epoch has nothing to agree with.
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

/// Corrects dates of receivers whose week number has rolled over. GPS counts weeks in ten bits, so a receiver beyond
/// its designed lifetime is 1024 weeks late, or a multiple of that.
///
/// Such a date is before this program's first release. The corrected date must agree with the system clock within half
/// a year, if that clock is set.
enum WeekRollover {
  /// The earliest possible date, 2026-01-01, in nanoseconds since 1970. The program did not exist before.
  static let release: Int64 = 1_767_225_600_000_000_000
  private static let era: Int64 = 1024 * 7 * 86400 * 1_000_000_000
  private static let plausible: Int64 = 183 * 86400 * 1_000_000_000
  private static let day: Int64 = 86400 * 1_000_000_000

  /// The number of eras of 1024 weeks by which a receiver's stated time is behind; 0 if the time is not before
  /// `release`, or if the corrected time would be more than half a year from a system clock that is set.
  ///
  /// - Parameters:
  ///   - system: the system clock, nanoseconds since 1970
  ///   - allowsOldTimes: whether the system clock may rightly show a time before `release`, as in a replay; then a
  ///     receiver's time within a day of the system clock is right as well
  static func eras(behind time: UTCTime, system: Int64, allowsOldTimes: Bool = false) -> Int64 {
    guard time.nanosecondsSince1970 < release else { return 0 }
    if allowsOldTimes, abs(time.nanosecondsSince1970 - system) < day { return 0 }
    let eras = (release - time.nanosecondsSince1970 + era - 1) / era
    let isPlausible = system < release || abs(time.nanosecondsSince1970 + eras * era - system) < plausible
    return isPlausible ? eras : 0
  }

  static func carry(_ time: UTCTime, by eras: Int64) -> UTCTime {
    UTCTime(nanosecondsSince1970: time.nanosecondsSince1970 + eras * era)
  }
}
