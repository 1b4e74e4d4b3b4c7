/// Depth of water, from DBT (below the transducer) or DPT (with the transducer's offset).
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
    depthMetres = metres ?? feet.map { $0 * Unit.metresPerFoot } ?? fathoms.map { $0 * Unit.metresPerFathom }
  }

  /// A negative offset is the way from transducer to keel and is added, so that the depth counts from the keel.
  init?(withOffset fields: inout FieldReader) {
    guard fields.remaining >= 3 else { return nil }
    let depth = fields.number()
    let offset = fields.number() ?? 0
    depthMetres = depth.map { offset < 0 ? $0 - offset : $0 }
  }
}
