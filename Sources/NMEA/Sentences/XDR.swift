/// Transducer measurements. Only angles and magnetic components are kept.
public struct XDR: Equatable, Sendable {
  public var pitchDegrees: Double?
  public var rollDegrees: Double?
  /// Magnetic field, in the transducer's own unit.
  public var magneticX: Double?
  public var magneticY: Double?
  public var magneticZ: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 4 else { return nil }
    for _ in 0..<(fields.remaining / 4) {
      let type = fields.character()
      let value = fields.number()
      let unit = fields.character()
      let name = fields.bytes()
      guard let value else { continue }
      switch type {
      case Byte.A where unit == Byte.D:
        if name.spells("PTCH") || name.spells("PITCH") {
          pitchDegrees = value
        } else if name.spells("ROLL") {
          rollDegrees = value
        }
      case UInt8(ascii: "G"):
        if name.spells("MAGX") { magneticX = value }
        if name.spells("MAGY") { magneticY = value }
        if name.spells("MAGZ") { magneticZ = value }
      default: continue
      }
    }
  }
}
