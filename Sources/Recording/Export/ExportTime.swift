import NMEA

/// A time in a recording, as a user enters it: an instant, a day, or a time of the recording's first day.
public enum ExportTime: Equatable, Sendable {
  case instant(UTCTime)
  case day(CalendarDate)
  case timeOfDay(TimeOfDay)

  /// The permitted forms, for error messages.
  public static let forms =
    "2026-11-22T10:00:00Z, 2026-11-22T11:00:00+01:00, 2026-11-22 for a day, or 10:00 or 10:00:00 of the recording's first "
    + "day, the last three in UTC"

  /// Reads one of the forms; `nil` for anything else.
  public init?(_ text: String) {
    var text = text
    let parsed = text.withUTF8 { bytes in
      UTCText.read(bytes).map(ExportTime.instant) ?? UTCText.readDate(bytes).map(ExportTime.day)
        ?? UTCText.readTimeOfDay(bytes).map(ExportTime.timeOfDay)
    }
    guard let parsed else { return nil }
    self = parsed
  }

  /// The time as the beginning of a period.
  ///
  /// - Parameter start: an instant of the recording's first day
  public func start(inRecordingFrom start: UTCTime) -> UTCTime {
    switch self {
    case .instant(let instant): instant
    case .day(let date): UTCTime(date: date, time: TimeOfDay(second: 0, nanosecond: 0))
    case .timeOfDay(let time): UTCTime(date: start.components.date, time: time)
    }
  }

  /// The time as the end of a period. A day ends at the following midnight.
  ///
  /// - Parameter start: an instant of the recording's first day
  public func end(inRecordingFrom start: UTCTime) -> UTCTime {
    let first = self.start(inRecordingFrom: start)
    guard case .day = self else { return first }
    return UTCTime(nanosecondsSince1970: first.nanosecondsSince1970.clampedSum(86_400_000_000_000))
  }
}
