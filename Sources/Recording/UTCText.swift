import CLinux
import Glibc
import NMEA

/// Times in ISO 8601: `2026-11-22T10:00:00.000Z`. The output is always in UTC.
public enum UTCText {
  /// The time rounded to milliseconds, as text.
  public static func make(_ time: UTCTime) -> String {
    let parts = UTCTime(nanosecondsSince1970: rounded(time.nanosecondsSince1970)).components
    let (year, month, day) = (Int(parts.date.year), Int(parts.date.month), Int(parts.date.day))
    let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    let clock = "\(padded(parts.hour, 2)):\(padded(parts.minute, 2)):\(padded(parts.second, 2))"
    return "\(date)T\(clock).\(padded(parts.nanosecond / 1_000_000, 3))Z"
  }

  /// Reads `2026-11-22T10:00Z` and `2026-11-22T10:00:00Z`, also with a fraction of a second, and with an offset such as
  /// `+01:00` in place of `Z`; `nil` for anything else.
  public static func read(_ text: UnsafeBufferPointer<UInt8>) -> UTCTime? {
    var fields = Fields(text)
    guard let date = fields.date(), fields.take("T"), let time = fields.timeOfDay(),
      let offset = fields.offsetSeconds(), fields.isAtEnd
    else { return nil }
    let instant = UTCTime(date: date, time: time).nanosecondsSince1970
    return UTCTime(nanosecondsSince1970: instant.clampedSum(offset * -1_000_000_000))
  }

  /// Reads a date such as `2026-11-22`.
  static func readDate(_ text: UnsafeBufferPointer<UInt8>) -> CalendarDate? {
    var fields = Fields(text)
    guard let date = fields.date(), fields.isAtEnd else { return nil }
    return date
  }

  /// Reads `10:00` and `10:00:00`, also with a fraction of a second.
  static func readTimeOfDay(_ text: UnsafeBufferPointer<UInt8>) -> TimeOfDay? {
    var fields = Fields(text)
    guard let time = fields.timeOfDay(), fields.isAtEnd else { return nil }
    return time
  }

  private static func rounded(_ nanoseconds: Int64) -> Int64 {
    let (sum, overflows) = nanoseconds.addingReportingOverflow(500_000)
    return overflows ? nanoseconds : sum
  }

  private static func padded(_ value: Int, _ width: Int) -> String {
    let digits = String(value)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }

  private struct Fields {
    private let text: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ text: UnsafeBufferPointer<UInt8>) { self.text = text }

    var isAtEnd: Bool { position == text.count }

    mutating func take(_ letter: Unicode.Scalar) -> Bool {
      guard position < text.count, text[position] == UInt8(ascii: letter) else { return false }
      position += 1
      return true
    }

    mutating func digits(_ count: Int) -> Int? {
      guard position + count <= text.count else { return nil }
      var value = 0
      for byte in text[position..<position + count] {
        guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
        value = value * 10 + Int(byte - UInt8(ascii: "0"))
      }
      position += count
      return value
    }

    mutating func date() -> CalendarDate? {
      guard let year = digits(4), take("-"), let month = digits(2), take("-"), let day = digits(2),
        let date = CalendarDate(year: year, month: month, day: day)
      else { return nil }
      // Refuse a day that the month does not have: it would become a day of the next month.
      return UTCTime(date: date, time: TimeOfDay(second: 0, nanosecond: 0)).components.date == date ? date : nil
    }

    /// The offset from UTC in seconds, positive to the east.
    mutating func offsetSeconds() -> Int64? {
      if take("Z") { return 0 }
      let isAhead = take("+")
      guard isAhead || take("-"), let hours = digits(2), take(":"), let minutes = digits(2), hours < 24, minutes < 60
      else { return nil }
      return Int64(hours * 3600 + minutes * 60) * (isAhead ? 1 : -1)
    }

    mutating func timeOfDay() -> TimeOfDay? {
      guard let hour = digits(2), take(":"), let minute = digits(2), hour < 24, minute < 60 else { return nil }
      var second = 0
      var nanosecond = 0
      if take(":") {
        guard let value = digits(2), value <= 60 else { return nil }
        second = value
        if take(".") {
          var scale = 100_000_000
          guard let first = digits(1) else { return nil }
          nanosecond = first * scale
          while let digit = digits(1) {
            scale /= 10
            nanosecond += digit * scale
          }
        }
      }
      return TimeOfDay(second: hour * 3600 + minute * 60 + second, nanosecond: nanosecond)
    }
  }
}

/// A time in a recording, as a user enters it: an instant, a day, or a time of the recording's first day.
public enum ExportTime: Equatable, Sendable {
  case instant(UTCTime)
  case day(CalendarDate)
  case timeOfDay(TimeOfDay)

  /// The permitted forms, for error messages.
  public static let forms =
    "2026-11-22T10:00:00Z, 2026-11-22T11:00:00+01:00, 2026-11-22 for a day, or 10:00 or 10:00:00 of the recording's first "
    + "day, the last three in UTC"

  /// Reads a text in one of `forms`; `nil` for any other text.
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

/// A UTC time with a precision of seconds, for names and metadata.
public struct UTCStamp {
  private let parts: tm

  public init(nanosecondsSince1970: Int64) {
    var seconds = time_t(nanosecondsSince1970 / 1_000_000_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    self.parts = parts
  }

  /// The basic form, for example `20261122T211439Z`.
  public var basic: String { "\(date(""))T\(time(""))Z" }

  /// The extended form, for example `2026-11-22T21:14:39Z`.
  public var extended: String { "\(date("-"))T\(time(":"))Z" }

  private func date(_ separator: String) -> String {
    [(Int(parts.tm_year) + 1900, 4), (Int(parts.tm_mon) + 1, 2), (Int(parts.tm_mday), 2)].map(UTCStamp.padded)
      .joined(separator: separator)
  }

  private func time(_ separator: String) -> String {
    [(Int(parts.tm_hour), 2), (Int(parts.tm_min), 2), (Int(parts.tm_sec), 2)].map(UTCStamp.padded)
      .joined(separator: separator)
  }

  static func padded(_ value: Int, to digits: Int) -> String {
    let text = "\(value)"
    return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
  }
}
