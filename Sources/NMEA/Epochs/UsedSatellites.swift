/// The satellites that GSA sentences name, one or several sentences to a list.
struct UsedSatellites: Sendable {
  private static let capacity = 64
  private var numbers = InlineArray<64, UInt16>(repeating: 0)
  private(set) var count = 0
  /// The talker of the GSA before, while they follow each other without another sentence between.
  private(set) var listTalker: Talker?
  private(set) var hasSeveralLists = false

  /// Any other sentence ends a list.
  mutating func endList() { listTalker = nil }

  mutating func begin(_ talker: Talker) {
    let continues = talker == .combined || talker == .qzss || talker == .quectel
    if listTalker == nil || (listTalker == talker && !continues) { count = 0 }
    listTalker = talker
    if talker != .gps { hasSeveralLists = true }
  }

  mutating func insert(_ number: SatelliteNumber) {
    guard count < UsedSatellites.capacity, !contains(number) else { return }
    numbers[count] = number.extended
    count += 1
  }

  func contains(_ number: SatelliteNumber) -> Bool {
    for index in 0..<count where numbers[index] == number.extended { return true }
    return false
  }
}

extension Sky {
  /// Marks the satellites that are in use. No sentence says which of a satellite's signals is used; one that is not
  /// received cannot be.
  mutating func mark(_ used: UsedSatellites) {
    for index in 0..<count {
      self[index].isUsed = self[index].signalStrength > 0 && used.contains(self[index].number)
    }
  }
}
