/// The list of satellites as GSV sentences fill it.
struct SatelliteList: ~Copyable, @unchecked Sendable {
  // Unchecked, and safe: the memory belongs to this value alone, which cannot be copied.

  /// What one epoch of a receiver with four systems on two frequencies reports, with room to spare.
  static let capacity = 128

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
