/// Transducer measurements; the angles and magnetic components among them are kept.
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
        if name.elementsEqual("PTCH".utf8) || name.elementsEqual("PITCH".utf8) {
          pitchDegrees = value
        } else if name.elementsEqual("ROLL".utf8) {
          rollDegrees = value
        }
      case UInt8(ascii: "G"):
        if name.elementsEqual("MAGX".utf8) { magneticX = value }
        if name.elementsEqual("MAGY".utf8) { magneticY = value }
        if name.elementsEqual("MAGZ".utf8) { magneticZ = value }
      default: continue
      }
    }
  }
}
