/// PGRMF: a whole fix in one sentence. The week and the seconds stay valid after a rollover of the GPS week; the date
/// does not.
public struct GarminFix: Equatable, Sendable {
  public var time: UTCTime?
  public var position: Coordinate?
  public var mode: FixMode?
  public var speedMetresPerSecond: Double?
  public var trackDegrees: Double?
  public var isValid: Bool

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 14 else { return nil }
    let week = fields.integer()
    let second = fields.integer()
    let date = fields.date()
    let timeOfDay = fields.timeOfDay()
    let leapSeconds = fields.integer()
    if let week, let second, let leapSeconds, (0..<8192).contains(week), (0...604_800).contains(second),
      (1..<100).contains(leapSeconds)
    {
      // GPS counts weeks from 1980-01-06, with ten bits on old receivers. The leap seconds show the era, because they
      // reached 13 just before the second era and 18 before the third.
      let era = week < 1024 ? (leapSeconds >= 18 ? 2048 : leapSeconds >= 13 ? 1024 : 0) : 0
      let gps = Int64(week + era) * 604_800 + Int64(second - leapSeconds)
      time = UTCTime(nanosecondsSince1970: (gps + 315_964_800) * 1_000_000_000)
    } else if let date, let timeOfDay {
      time = UTCTime(date: date, time: timeOfDay)
    }
    position = fields.coordinate()
    isValid = fields.character() == Byte.A
    switch fields.integer() {
    case 0: mode = .noFix
    case 1: mode = .twoDimensional
    case 2: mode = .threeDimensional
    default: mode = nil
    }
    speedMetresPerSecond = fields.number().map { $0 * Unit.metresPerSecondPerKilometrePerHour }
    trackDegrees = fields.direction()
  }
}
