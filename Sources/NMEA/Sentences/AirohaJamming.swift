import UBX

/// PAIRSPF, and PAIRSPF5 for the other band: an Airoha receiver's report of jamming, once PAIR391 has requested it.
public struct AirohaJamming: Equatable, Sendable {
  public var state: JammingReport
  public var isOtherBand: Bool

  init?(_ fields: inout FieldReader, isOtherBand: Bool) {
    guard let state = fields.integer().flatMap(UInt8.init(exactly:)).flatMap(JammingReport.init) else { return nil }
    self.state = state
    self.isOtherBand = isOtherBand
  }
}
