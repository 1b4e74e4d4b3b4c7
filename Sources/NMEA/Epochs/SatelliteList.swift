/// A list of satellites, or of their signals, that grows with each message.
struct SatelliteList: ~Copyable, @unchecked Sendable {
  // This is unchecked, and safe: the memory belongs to this value alone, which cannot be copied.

  /// The maximum number of entries. An epoch has fewer, even with four systems on three frequencies, because a message
  /// of signals counts them in a byte.
  static let capacity = 256

  private let storage: UnsafeMutablePointer<Satellite>
  private(set) var count = 0

  init() {
    storage = .allocate(capacity: SatelliteList.capacity)
    storage.initialize(repeating: .placeholder, count: SatelliteList.capacity)
  }

  deinit { storage.deallocate() }

  /// A view of the list, valid until the list changes.
  var sky: Sky { Sky(storage, count: count) }

  /// Adds a satellite, unless the list is full.
  mutating func append(_ satellite: Satellite) {
    guard count < SatelliteList.capacity else { return }
    storage[count] = satellite
    count += 1
  }

  mutating func removeAll() { count = 0 }

  /// Adds the positions in the sky from a list of satellites to the signals here. Satellites in view without a signal
  /// are added as well.
  mutating func join(_ satellites: borrowing SatelliteList) {
    // Both lists usually have the same order, so the next entry is near.
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

  /// The index of a satellite in the list.
  ///
  /// - Parameters:
  ///   - start: where the search begins
  ///   - count: the number of entries to search
  private func index(of number: SatelliteNumber, near start: Int, of count: Int? = nil) -> Int? {
    let count = count ?? self.count
    guard start < count else { return nil }
    for index in start..<count where storage[index].number == number { return index }
    for index in 0..<start where storage[index].number == number { return index }
    return nil
  }

  /// Marks the used satellites. No sentence says which signal of a satellite is used, but a signal that is not received
  /// cannot be used.
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
