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
