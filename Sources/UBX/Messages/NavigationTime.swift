/// NAV-TIMEGPS: the time of a solution by GPS, and by how much that is ahead of UTC; 16 bytes.
public struct NavigationTime {
  public let timeOfWeekMilliseconds: UInt32
  /// To be added to the time of week.
  public let fractionNanoseconds: Int32
  /// GPS weeks since 1980; `nil` unless week and time of week are known.
  public let week: Int16?
  /// `nil` until the satellites have told.
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
  /// `nil` where the receiver does not vouch for it.
  public let date: NavigationDate?
  public let timeAccuracyNanoseconds: UInt32

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.kind == UBXKind.navTIMEUTC, payload.count >= 20 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    timeAccuracyNanoseconds = payload.uint32(4)
    // The validity of time of week, week and UTC, in other bits than elsewhere.
    date = NavigationDate(payload, year: 12, validity: payload.uint8(19) & 7 == 7 ? 3 : 0, nanoseconds: 8)
  }
}
