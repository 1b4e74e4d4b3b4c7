/// The depth of water from DBT (below the transducer) or DPT (below the keel if its offset is negative, and otherwise
/// below the transducer).
public struct Depth: Equatable, Sendable {
  public var depthMetres: Double?

  init?(belowTransducer fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    let feet = fields.number()
    fields.skip()
    let metres = fields.number()
    fields.skip()
    let fathoms = fields.number()
    // Sounders do not always fill in all three units.
    depthMetres = Depth.measured(
      metres ?? feet.map { $0 * Unit.metresPerFoot } ?? fathoms.map { $0 * Unit.metresPerFathom })
  }

  /// Reads DPT. The magnitude of a negative offset is the distance from the transducer down to the keel, and is
  /// subtracted from the depth. gpsd adds the distance, and so states more water than there is.
  init?(withOffset fields: inout FieldReader) {
    guard fields.remaining >= 1 else { return nil }
    let depth = Depth.measured(fields.number())
    let offset = fields.number() ?? 0
    depthMetres = depth.map { offset < 0 ? $0 + offset : $0 }
  }

  /// A measured depth, which cannot be negative.
  private static func measured(_ metres: Double?) -> Double? { metres.flatMap { $0 >= 0 ? $0 : nil } }
}
