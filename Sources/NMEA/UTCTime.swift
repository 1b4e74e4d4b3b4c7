/// The UTC time of day of a sentence.
public struct TimeOfDay: Equatable, Sendable {
  /// Seconds since midnight, 0 to 86 400 (a leap second reads 86 400).
  public var second: Int32
  public var nanosecond: Int32

  public init(second: Int, nanosecond: Int = 0) {
    self.second = Int32(second)
    self.nanosecond = Int32(nanosecond)
  }

  @inline(__always)
  init?(hhmmss: FieldReader.Decimal) {
    let scale = FieldReader.Decimal.powersOfTen[hhmmss.decimals]
    let clock = Int(hhmmss.mantissa / scale)
    let hour = clock / 10000
    let minute = clock / 100 % 100
    let second = clock % 100
    guard hour < 24, minute < 60, second <= 60 else { return nil }
    self.second = Int32(hour * 3600 + minute * 60 + second)
    let fraction = hhmmss.mantissa % scale
    nanosecond =
      hhmmss.decimals <= 9
      ? Int32(fraction * FieldReader.Decimal.powersOfTen[9 - hhmmss.decimals])
      : Int32(fraction / FieldReader.Decimal.powersOfTen[hhmmss.decimals - 9])
  }

  /// The shortest time between two epochs, nanoseconds. Smaller differences within an epoch come from rounding.
  static let leastBetweenEpochs: Int64 = 10_000_000

  /// Whether the two times of day belong to different epochs.
  @inline(__always)
  func isAnotherEpoch(than other: TimeOfDay) -> Bool {
    self != other && abs(nanoseconds(since: other)) >= TimeOfDay.leastBetweenEpochs
  }

  /// Whether this time is less than two seconds before the other, and belongs to another epoch.
  func isShortlyBefore(_ other: TimeOfDay) -> Bool {
    (TimeOfDay.leastBetweenEpochs..<2_000_000_000).contains(other.nanoseconds(since: self))
  }

  /// The time since another time of the same day; negative if this time is earlier.
  @inline(__always)
  func nanoseconds(since other: TimeOfDay) -> Int64 {
    Int64(second - other.second) * 1_000_000_000 + Int64(nanosecond - other.nanosecond)
  }

  /// Whether midnight is between the other time and this one. The function assumes this if this time is smaller by more
  /// than twelve hours.
  public func isNextDay(after other: TimeOfDay) -> Bool { second < other.second - 43200 }

  /// Whether this time belongs to the evening before the other time, and has arrived late.
  public func isPreviousDay(before other: TimeOfDay) -> Bool { second > other.second + 43200 }
}

/// A day of the proleptic Gregorian calendar.
public struct CalendarDate: Equatable, Sendable {
  public var year: Int16
  public var month: Int8
  public var day: Int8

  /// The years whose times, and their differences, can be counted in nanoseconds.
  private static let years = 1970...2200

  /// `nil` unless the year is 1970 to 2200, the month 1 to 12 and the day 1 to 31.
  public init?(year: Int, month: Int, day: Int) {
    guard (1...12).contains(month), (1...31).contains(day), CalendarDate.years.contains(year) else { return nil }
    self.year = Int16(year)
    self.month = Int8(month)
    self.day = Int8(day)
  }

  /// The days since 1970-01-01. Years are counted from March, so that the leap day comes last.
  var daysSince1970: Int {
    let shiftedYear = month > 2 ? Int(year) : Int(year) - 1
    let shiftedMonth = (Int(month) + 9) % 12
    let leapDays = shiftedYear / 4 - shiftedYear / 100 + shiftedYear / 400
    return 365 * shiftedYear + leapDays + (153 * shiftedMonth + 2) / 5 + Int(day) - 1 - 719_468
  }

  /// The next day; `nil` after the last year.
  var next: CalendarDate? { neighbour(1) }
  /// The day before; `nil` before the first year.
  var previous: CalendarDate? { neighbour(-1) }

  private func neighbour(_ days: Int) -> CalendarDate? {
    let date = CalendarDate(daysSince1970: daysSince1970 + days)
    return CalendarDate.years.contains(Int(date.year)) ? date : nil
  }

  init(daysSince1970 days: Int) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shiftedMonth = (5 * dayOfYear + 2) / 153
    day = Int8(dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    month = Int8(shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9)
    year = Int16(yearOfEra + era * 400 + (month <= 2 ? 1 : 0))
  }
}

/// A UTC time as the receiver states it: nanoseconds since 1970-01-01T00:00:00Z, without leap seconds.
public struct UTCTime: Equatable, Comparable, Sendable {
  public var nanosecondsSince1970: Int64

  public init(nanosecondsSince1970: Int64) { self.nanosecondsSince1970 = nanosecondsSince1970 }

  public init(date: CalendarDate, time: TimeOfDay) {
    nanosecondsSince1970 =
      (Int64(date.daysSince1970) * 86400 + Int64(time.second)) * 1_000_000_000 + Int64(time.nanosecond)
  }

  public static func < (lhs: UTCTime, rhs: UTCTime) -> Bool { lhs.nanosecondsSince1970 < rhs.nanosecondsSince1970 }

  /// Date, hour, minute, second and nanosecond of this instant.
  public var components: (date: CalendarDate, hour: Int, minute: Int, second: Int, nanosecond: Int) {
    var seconds = Int(nanosecondsSince1970 / 1_000_000_000)
    var nanosecond = Int(nanosecondsSince1970 % 1_000_000_000)
    if nanosecond < 0 {
      nanosecond += 1_000_000_000
      seconds -= 1
    }
    var days = seconds / 86400
    var second = seconds % 86400
    if second < 0 {
      second += 86400
      days -= 1
    }
    return (CalendarDate(daysSince1970: days), second / 3600, second / 60 % 60, second % 60, nanosecond)
  }

  /// The nearest hundredth of a second, the precision of sentences. A u-blox states the instant of its solution, which
  /// may be some microseconds before the second that it is meant for.
  public var rounded: UTCTime {
    let hundredth: Int64 = 10_000_000
    let remainder = (nanosecondsSince1970 % hundredth + hundredth) % hundredth
    let step = remainder < hundredth / 2 ? -remainder : hundredth - remainder
    return UTCTime(nanosecondsSince1970: nanosecondsSince1970 &+ step)
  }
}
