/// NAV-TIMEGPS: the GPS time of a solution, and its offset from UTC; 16 bytes.
public struct NavigationTime {
  public let timeOfWeekMilliseconds: UInt32
  /// The nanoseconds to add to the time of week.
  public let fractionNanoseconds: Int32
  /// The GPS week since 1980; `nil` unless week and time of week are known.
  public let week: Int16?
  /// The leap seconds; `nil` until the satellites have sent them.
  public let leapSeconds: Int8?
  public let timeAccuracyNanoseconds: UInt32

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.kind == UBXKind.navTIMEGPS, payload.count >= 16 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    fractionNanoseconds = payload.int32(4)
    let validity = payload.uint8(11)
    week =
      validity & 3 == 3
      ? GPSWeek.plausible(
        payload.int16(8), timeOfWeekMilliseconds: timeOfWeekMilliseconds, fractionNanoseconds: fractionNanoseconds)
      : nil
    leapSeconds = validity & 4 != 0 ? payload.int8(10) : nil
    timeAccuracyNanoseconds = payload.uint32(12)
  }
}

/// NAV-TIMEUTC: the time of a solution; 20 bytes.
public struct NavigationUTC {
  public let timeOfWeekMilliseconds: UInt32
  /// The date; `nil` if the receiver does not mark it as valid.
  public let date: NavigationDate?
  public let timeAccuracyNanoseconds: UInt32

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.kind == UBXKind.navTIMEUTC, payload.count >= 20 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    timeAccuracyNanoseconds = payload.uint32(4)
    // In this message, three bits state the validity: of the time of week, of the week and of UTC.
    date = NavigationDate(payload, year: 12, validity: payload.uint8(19) & 7 == 7 ? 3 : 0, nanoseconds: 8)
  }
}

/// A UTC time in fields of a message.
public struct NavigationDate: Equatable, Sendable {
  public let year: Int
  public let month: Int
  public let day: Int
  public let hour: Int
  public let minute: Int
  /// The second, 60 in a leap second.
  public let second: Int
  /// The nanoseconds to add, -1e9 to 1e9, because the receiver rounds the second to the nearest hundredth.
  public let nanosecond: Int

  /// Reads year, month, day, hour, minute and second in seven bytes; `nil` unless both date and time are marked as
  /// valid and each field is in its range.
  init?(_ payload: LittleEndianBytes, year: Int, validity: UInt8, nanoseconds: Int) {
    guard validity & 3 == 3 else { return nil }
    self.init(
      year: Int(payload.uint16(year)), month: Int(payload.uint8(year + 2)), day: Int(payload.uint8(year + 3)),
      hour: Int(payload.uint8(year + 4)), minute: Int(payload.uint8(year + 5)), second: Int(payload.uint8(year + 6)),
      nanosecond: Int(payload.int32(nanoseconds)))
    guard isPossible else { return nil }
  }

  var isPossible: Bool {
    (1...12).contains(month) && (1...31).contains(day) && hour < 24 && minute < 60 && second <= 60
      && abs(nanosecond) <= 1_000_000_000
  }

  public init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, nanosecond: Int) {
    self.year = year
    self.month = month
    self.day = day
    self.hour = hour
    self.minute = minute
    self.second = second
    self.nanosecond = nanosecond
  }
}

/// GPS weeks, counted since 1980-01-06.
enum GPSWeek {
  /// Returns the week if the week, the time of week and its fraction are in range, otherwise `nil`. A message with a
  /// correct checksum may still contain a wrong number.
  static func plausible(_ week: Int16, timeOfWeekMilliseconds: UInt32, fractionNanoseconds: Int32) -> Int16? {
    let isPlausible =
      (1..<8000).contains(week) && timeOfWeekMilliseconds < 604_800_000
      && (-1_000_000_000...1_000_000_000).contains(fractionNanoseconds)
    return isPlausible ? week : nil
  }
}

/// TIM-TP: the time of the next pulse, and its error; 16 bytes. The error exists because a pulse can begin only with a
/// cycle of the receiver's clock.
public struct TimePulse: Equatable, Sendable {
  /// The time of week by the base that `isUTC` names.
  public let timeOfWeekMilliseconds: UInt32
  /// The error of the pulse relative to its stated time, seconds; `nil` if it is unknown.
  public let quantisationErrorSeconds: Double?
  public let week: UInt16
  /// Whether the time is UTC; otherwise it is the time of a satellite system.
  public let isUTC: Bool

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .ubx, message.kind == UBXKind.timTP, payload.count >= 16 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    let flags = payload.uint8(14)
    quantisationErrorSeconds = flags & 0x10 == 0 ? Double(payload.int32(8)) * 1e-12 : nil
    week = payload.uint16(12)
    isUTC = flags & 1 != 0
  }
}

/// CASIC's TIM-TP; 24 bytes.
public struct CASICTimePulse: Equatable, Sendable {
  public let runTimeMilliseconds: UInt32
  public let quantisationErrorSeconds: Double

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .casic, message.kind == CASICKind.timTP, payload.count >= 24 else { return nil }
    runTimeMilliseconds = payload.uint32(0)
    quantisationErrorSeconds = Double(payload.float(4))
    guard abs(quantisationErrorSeconds) < 1 else { return nil }
  }
}
