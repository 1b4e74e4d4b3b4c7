/// One satellite in view.
public struct Satellite: Equatable, Sendable {
  public var number: SatelliteNumber
  /// u-blox's signal identifier inside the system; 0 is the first civil signal.
  public var signal: UInt8
  /// -90 to 90.
  public var elevationDegrees: Int8
  /// 0 to 359 from true north.
  public var azimuthDegrees: UInt16
  /// Carrier to noise density, dB-Hz; 0 while not tracked.
  public var signalStrength: UInt8
  /// Part of the solution, by GSA.
  public var isUsed: Bool
}

/// The sky as the receiver last reported it. A value without heap storage, so that a stream of them allocates nothing.
public struct Sky: Sendable {
  /// What one epoch of a receiver with four systems on two frequencies reports, with room to spare.
  public static let capacity = 128

  private var storage: InlineArray<128, Satellite>
  public private(set) var count = 0

  init() {
    let none = Satellite(
      number: SatelliteNumber(1, system: nil).unsafelyUnwrapped, signal: 0, elevationDegrees: 0, azimuthDegrees: 0,
      signalStrength: 0, isUsed: false)
    storage = InlineArray(repeating: none)
  }

  /// - Precondition: `index` is below `count`.
  public internal(set) subscript(index: Int) -> Satellite {
    get {
      precondition(index < count)
      // Through the span: subscripting the array itself copies all of it first.
      return storage.span[index]
    }
    _modify {
      precondition(index < count)
      yield &storage[index]
    }
  }

  public var usedCount: Int {
    var used = 0
    for index in 0..<count where storage[index].isUsed { used += 1 }
    return used
  }

  mutating func append(_ satellite: Satellite) {
    guard count < Sky.capacity else { return }
    storage[count] = satellite
    count += 1
  }

  mutating func removeAll() { count = 0 }
}

extension Sky: Equatable {
  public static func == (lhs: Sky, rhs: Sky) -> Bool {
    lhs.count == rhs.count && (0..<lhs.count).allSatisfy { lhs[$0] == rhs[$0] }
  }
}
