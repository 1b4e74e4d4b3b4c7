import NMEA

/// An instant of a recording as people give it: with its date, or as a time of the recording's first day.
public enum ExportTime: Equatable, Sendable {
  case instant(UTCTime)
  case timeOfDay(TimeOfDay)

  /// `2026-11-22T10:00:00Z`, or `10:00` or `10:00:00`; `nil` for anything else.
  public init?(_ text: String) {
    var text = text
    let parsed = text.withUTF8 { bytes in
      UTCText.read(bytes).map(ExportTime.instant) ?? UTCText.readTimeOfDay(bytes).map(ExportTime.timeOfDay)
    }
    guard let parsed else { return nil }
    self = parsed
  }

  /// - Parameter start: an instant of the recording's first day
  public func instant(inRecordingFrom start: UTCTime) -> UTCTime {
    switch self {
    case .instant(let instant): instant
    case .timeOfDay(let time): UTCTime(date: start.components.date, time: time)
    }
  }
}
