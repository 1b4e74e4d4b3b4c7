/// The satellites that the GSA sentences of an epoch list as used.
struct UsedSatellites: ~Copyable, Sendable {
  /// A bit for each extended number; see `SatelliteNumber`.
  private var bits = InlineArray<16, UInt64>(repeating: 0)
  private(set) var count = 0
  /// The talker of the previous GSA, while no other sentence comes between.
  private(set) var listTalker: Talker?
  private(set) var hasSeveralLists = false

  /// Ends a list, because another sentence came.
  mutating func endList() { listTalker = nil }

  mutating func begin(_ talker: Talker) {
    let continues = talker == .combined || talker == .qzss || talker == .quectel
    if listTalker == nil || (listTalker == talker && !continues) {
      bits = InlineArray(repeating: 0)
      count = 0
    }
    listTalker = talker
    if talker != .gps { hasSeveralLists = true }
  }

  mutating func insert(_ number: SatelliteNumber) {
    guard !contains(number) else { return }
    bits[Int(number.extended >> 6) & 15] |= 1 << UInt64(number.extended & 63)
    count += 1
  }

  @inline(__always)
  func contains(_ number: SatelliteNumber) -> Bool {
    bits[Int(number.extended >> 6) & 15] & 1 << UInt64(number.extended & 63) != 0
  }
}
