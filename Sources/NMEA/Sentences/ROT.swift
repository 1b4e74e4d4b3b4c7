/// Rate of turn.
public struct ROT: Equatable, Sendable {
  /// The rate of turn in degrees per minute, positive to starboard.
  public var degreesPerMinute: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 2 else { return nil }
    let rate = fields.number()
    degreesPerMinute = fields.character() == Byte.A ? rate : nil
  }
}
