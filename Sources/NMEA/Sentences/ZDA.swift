/// Time and date, with the century.
public struct ZDA: Equatable, Sendable {
  public var time: TimeOfDay?
  public var date: CalendarDate?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 4 else { return nil }
    time = fields.timeOfDay()
    let day = fields.integer()
    let month = fields.integer()
    let year = fields.integer()
    date =
      if let day, let month, let year { CalendarDate(year: year, month: month, day: day) } else { nil }
  }
}
