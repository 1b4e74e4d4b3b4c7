import UBX

/// PAIRSPF, and PAIRSPF5 for the other band: what an Airoha receiver says of jamming, once PAIR391 has asked for it.
public struct AirohaJamming: Equatable, Sendable {
  public var state: JammingReport
  public var isOtherBand: Bool

  init?(_ fields: inout FieldReader, isOtherBand: Bool) {
    guard let state = fields.integer().flatMap(UInt8.init(exactly:)).flatMap(JammingReport.init) else { return nil }
    self.state = state
    self.isOtherBand = isOtherBand
  }
}
