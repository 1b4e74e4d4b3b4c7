/// PSRFEPE: a SiRF receiver's estimated errors.
public struct SiRFErrorEstimate: Equatable, Sendable {
  public var time: TimeOfDay?
  public var isValid: Bool
  public var hdop: Double?
  public var horizontalMetres: Double?
  public var verticalMetres: Double?
  public var speedMetresPerSecond: Double?
  public var trackDegrees: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    time = fields.timeOfDay()
    isValid = fields.character() == Byte.A
    hdop = fields.number()
    horizontalMetres = fields.number()
    verticalMetres = fields.number()
    speedMetresPerSecond = fields.number()
    trackDegrees = fields.number()
  }
}
