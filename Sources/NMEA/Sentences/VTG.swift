/// Course and speed over ground.
public struct VTG: Equatable, Sendable {
  /// The course in degrees from true north.
  public var trackDegrees: Double?
  /// The course in degrees from magnetic north.
  public var magneticTrackDegrees: Double?
  public var speedMetresPerSecond: Double?
  public var mode: ModeIndicator?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 4 else { return nil }
    trackDegrees = fields.direction()
    fields.skip()
    magneticTrackDegrees = fields.direction()
    fields.skip()
    speedMetresPerSecond = fields.number().map { $0 * Unit.metresPerSecondPerKnot }
    fields.skip(3)
    mode = fields.character().map(ModeIndicator.init)
  }
}
