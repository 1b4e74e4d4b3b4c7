/// The list of satellites, or of their signals, as a receiver fills it.
struct SatelliteList: ~Copyable, @unchecked Sendable {
  // Unchecked, and safe: the memory belongs to this value alone, which cannot be copied.

  /// What one epoch of a receiver with four systems on three frequencies reports, with room to spare: a message of signals counts
  /// them in a byte.
  static let capacity = 256

  private let storage: UnsafeMutablePointer<Satellite>
  private(set) var count = 0

  init() {
    storage = .allocate(capacity: SatelliteList.capacity)
    storage.initialize(repeating: .placeholder, count: SatelliteList.capacity)
  }

  deinit { storage.deallocate() }

  /// The list as it stands, until it is changed.
  var sky: Sky { Sky(storage, count: count) }

  /// Satellites beyond the capacity are left out.
  mutating func append(_ satellite: Satellite) {
    guard count < SatelliteList.capacity else { return }
    storage[count] = satellite
    count += 1
  }

  mutating func removeAll() { count = 0 }

  /// Adds the positions in the sky that a list of satellites states for the signals here. Satellites in view without a
  /// signal are added as well.
  mutating func join(_ satellites: borrowing SatelliteList) {
    // Both lists have the same order as a rule, so the next one is near.
    var near = 0
    for index in 0..<count {
      guard let found = satellites.index(of: storage[index].number, near: near) else { continue }
      storage[index].elevationDegrees = satellites.storage[found].elevationDegrees
      storage[index].azimuthDegrees = satellites.storage[found].azimuthDegrees
      near = found
    }
    let signalCount = count
    near = 0
    for index in 0..<satellites.count {
      if let found = self.index(of: satellites.storage[index].number, near: near, of: signalCount) {
        near = found
      } else {
        append(satellites.storage[index])
      }
    }
  }

  /// Where a satellite stands in the list.
  ///
  /// - Parameters:
  ///   - start: where the search begins
  ///   - count: of the entries that are looked at
  private func index(of number: SatelliteNumber, near start: Int, of count: Int? = nil) -> Int? {
    let count = count ?? self.count
    guard start < count else { return nil }
    for index in start..<count where storage[index].number == number { return index }
    for index in 0..<start where storage[index].number == number { return index }
    return nil
  }

  /// Marks the satellites that are in use. No sentence says which of a satellite's signals is used; one that is not
  /// received cannot be.
  mutating func mark(_ used: borrowing UsedSatellites) {
    for index in 0..<count {
      let isUsed = used.contains(storage[index].number)
      storage[index].isUsed = isUsed && storage[index].signalStrength > 0
    }
  }
}

extension Satellite {
  static var placeholder: Satellite {
    Satellite(
      number: SatelliteNumber(1, system: nil).unsafelyUnwrapped, signal: 0, elevationDegrees: 0, azimuthDegrees: 0,
      signalStrength: 0, isUsed: false)
  }
}
