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
