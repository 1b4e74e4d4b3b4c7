/// The datum that positions refer to.
public struct DTM: Equatable, Sendable {
  public var datum: Datum?
  public var latitudeOffsetMinutes: Double?
  public var longitudeOffsetMinutes: Double?

  public enum Datum: Equatable, Sendable {
    case wgs84
    case wgs72
    case soviet85
    case pz90
    case userDefined
    /// A local datum with an IHO code; positions may be wrong by hundreds of metres.
    case local
  }

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 1 else { return nil }
    let code = fields.bytes()
    datum =
      if code.isEmpty { nil } else if code.spells("W84") { .wgs84 } else if code.spells("W72") {
        .wgs72
      } else if code.spells("S85") { .soviet85 } else if code.spells("P90") {
        .pz90
      } else if code.spells("999") { .userDefined } else { .local }
    fields.skip()
    let latitude = fields.number()
    latitudeOffsetMinutes = fields.character() == Byte.S ? latitude.map { -$0 } : latitude
    let longitude = fields.number()
    longitudeOffsetMinutes = fields.character() == Byte.W ? longitude.map { -$0 } : longitude
  }
}
