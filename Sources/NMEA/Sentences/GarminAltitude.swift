/// PGRMZ: altitude, in feet on the wire, and fix mode.
public struct GarminAltitude: Equatable, Sendable {
  public var altitudeMSLMetres: Double?
  public var mode: FixMode?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 3 else { return nil }
    let feet = fields.integer()
    altitudeMSLMetres =
      fields.character() == UInt8(ascii: "f") ? feet.map { Double($0) * Unit.metresPerFoot } : nil
    mode = fields.integer().flatMap { UInt8(exactly: $0) }.flatMap(FixMode.init(gsa:))
  }
}
