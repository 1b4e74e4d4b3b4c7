/// Recommended minimum data: time with its date, position, speed and course.
public struct RMC: Equatable, Sendable {
  public var time: TimeOfDay?
  /// Whether the status field is `A`, or `D` as in many RTK receivers, and the mode, if present, is neither `N` nor
  /// `V`.
  public var isValid: Bool
  public var position: Coordinate?
  public var speedMetresPerSecond: Double?
  /// The course over ground, degrees from true north.
  public var trackDegrees: Double?
  public var date: CalendarDate?
  /// Whether the date field held anything, even an invalid date.
  public var hasDateField: Bool
  /// The magnetic variation; positive if magnetic north is east of true north.
  public var magneticVariationDegrees: Double?
  public var mode: ModeIndicator?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 7 else { return nil }
    time = fields.timeOfDay()
    let status = GLL.Status(fields.character())
    position = fields.coordinate()
    speedMetresPerSecond = fields.number().map { $0 * Unit.metresPerSecondPerKnot }
    trackDegrees = fields.direction()
    var dateField = fields
    hasDateField = dateField.character() != nil
    date = fields.date()
    let variation = fields.number()
    switch fields.character() {
    case Byte.E: magneticVariationDegrees = variation
    case Byte.W: magneticVariationDegrees = variation.map { -$0 }
    default: magneticVariationDegrees = nil
    }
    mode = fields.character().map(ModeIndicator.init)
    isValid = status == .valid && mode != .invalid
  }
}
