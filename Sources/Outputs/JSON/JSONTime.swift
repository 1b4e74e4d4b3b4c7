import NMEA

/// A UTC time, rounded to milliseconds, in the parts of an ISO 8601 timestamp.
public struct JSONTime: Sendable {
  var year: Int
  var month: Int
  var day: Int
  var hour: Int
  var minute: Int
  var second: Int
  var millisecond: Int

  public init(_ time: UTCTime) {
    // Receivers report times with two decimals; rounding keeps .25 from becoming .249.
    let rounded = UTCTime(nanosecondsSince1970: time.nanosecondsSince1970 &+ 500_000)
    let parts = rounded.components
    year = Int(parts.date.year)
    month = Int(parts.date.month)
    day = Int(parts.date.day)
    hour = parts.hour
    minute = parts.minute
    second = parts.second
    millisecond = parts.nanosecond / 1_000_000
  }
}
