/// Where the bow points, from HDG, HDM, HDT or THS.
public struct Heading: Equatable, Sendable {
  /// Degrees from true north, 0 to 360.
  public var trueDegrees: Double?
  /// Degrees from magnetic north, deviation corrected where the sentence gives it.
  public var magneticDegrees: Double?
  /// Positive where magnetic north lies east of true north.
  public var variationDegrees: Double?

  init?(hdg fields: inout FieldReader) {
    let sensor = fields.number()
    let deviation = fields.signed(positive: Byte.E, negative: Byte.W)
    variationDegrees = fields.signed(positive: Byte.E, negative: Byte.W)
    magneticDegrees = Heading.onCircle(sensor).map { $0 + (deviation ?? 0) }
  }

  init?(hdm fields: inout FieldReader) {
    guard fields.remaining >= 2 else { return nil }
    magneticDegrees = Heading.onCircle(fields.number())
  }

  init?(hdt fields: inout FieldReader) {
    trueDegrees = Heading.onCircle(fields.number())
  }

  /// THS says how it knows; `V` is not valid.
  init?(ths fields: inout FieldReader) {
    let heading = fields.number()
    let mode = fields.character()
    trueDegrees = mode == nil || mode == Byte.V ? nil : Heading.onCircle(heading)
  }

  private static func onCircle(_ degrees: Double?) -> Double? {
    degrees.flatMap { (0...360).contains($0) ? $0 : nil }
  }
}
