/// A view of the satellites of an epoch.
///
/// The value points into the assembler, and is valid only inside the call that passes the epoch. The list takes
/// kilobytes, so it is not copied for each epoch. Use `satellites` to keep the satellites.
public struct Sky: @unchecked Sendable {
  // This is unchecked, and safe: the storage belongs to the assembler. Nothing else can reach the assembler while this
  // value is in use, and the assembler changes threads only as a whole.
  private let base: UnsafePointer<Satellite>?
  public let count: Int

  @inline(__always)
  init(_ base: UnsafePointer<Satellite>?, count: Int) {
    self.base = base
    self.count = count
  }

  static var empty: Sky { Sky(nil, count: 0) }

  public var isEmpty: Bool { count == 0 }

  /// - Precondition: `index` is below `count`.
  @inline(__always)
  public subscript(index: Int) -> Satellite {
    guard let base, index >= 0, index < count else { preconditionFailure("no satellite \(index) of \(count)") }
    return base[index]
  }

  /// The satellites as a copy that can be kept.
  public var satellites: [Satellite] { Array(UnsafeBufferPointer(start: base, count: count)) }

  public var usedCount: Int {
    var used = 0
    for index in 0..<count where self[index].isUsed { used += 1 }
    return used
  }
}

extension [Satellite] {
  /// Calls `body` with the satellites as a `Sky`, the form in which an epoch passes its satellites.
  public func withSky(_ body: (Sky) -> Void) {
    withUnsafeBufferPointer { body(Sky($0.baseAddress, count: $0.count)) }
  }
}

/// One satellite in view, or one of its signals.
public struct Satellite: Equatable, Sendable {
  public var number: SatelliteNumber
  /// u-blox's number of the signal inside the system; 0 is the first civil signal.
  public var signal: UInt8
  /// The elevation, -90 to 90.
  public var elevationDegrees: Int8
  /// The azimuth from true north as the receiver states it, normally 0 to 360.
  public var azimuthDegrees: UInt16
  /// The carrier to noise density, dB-Hz; 0 while not tracked.
  public var signalStrength: UInt8
  /// Whether the satellite is part of the solution.
  public var isUsed: Bool
}

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
