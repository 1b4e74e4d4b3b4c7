import NMEA

/// GPS counts weeks in ten bits: a receiver that is older than it was made to be is 1024 weeks behind, or twice that.
///
/// Such a date lies before this program's own release. Carried forward it has to agree with the system clock to half a
/// year, where that is set at all.
enum WeekRollover {
  /// Nobody had this program before: 2026-01-01, in nanoseconds since 1970.
  static let release: Int64 = 1_767_225_600_000_000_000
  private static let era: Int64 = 1024 * 7 * 86400 * 1_000_000_000
  private static let plausible: Int64 = 183 * 86400 * 1_000_000_000
  private static let day: Int64 = 86400 * 1_000_000_000

  /// How many times 1024 weeks a receiver is behind that states this time.
  ///
  /// - Parameters:
  ///   - system: what the system clock says, nanoseconds since 1970
  ///   - allowsOldTimes: whether that may be a clock of years ago that is right: a time that agrees with it is right as well
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
