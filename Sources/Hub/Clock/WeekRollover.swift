import NMEA

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
