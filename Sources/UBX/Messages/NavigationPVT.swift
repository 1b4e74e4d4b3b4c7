/// A position, velocity and time from NAV-PVT or HNR-PVT. NAV-PVT states the values of a solution, in 84 bytes at
/// protocol 14 and 92 from 15 on. HNR-PVT states the values at an instant between two solutions, from inertial sensors,
/// and most of its fields have other offsets.
public struct NavigationPVT {
  public enum Carrier: UInt8, Sendable {
    case none = 0
    case float = 1
    case fixed = 2
  }

  public let timeOfWeekMilliseconds: UInt32
  /// The date; `nil` if the receiver does not mark it as valid.
  public let date: NavigationDate?
  public let timeAccuracyNanoseconds: UInt32
  public let fixType: NavigationFixType
  /// Whether the fix is within the configured limits of accuracy.
  public let isFixOK: Bool
  /// Whether longitude, latitude and heights are valid: `false` if the receiver marks them as invalid.
  public let isPositionValid: Bool
  public let isDifferential: Bool
  public let carrier: Carrier
  /// The number of satellites in the solution; `nil` in HNR-PVT, which does not state it.
  public let satellitesUsed: UInt8?
  public let longitudeDegrees: Double
  public let latitudeDegrees: Double
  public let altitudeHAEMetres: Double
  public let altitudeMSLMetres: Double
  public let horizontalAccuracyMetres: Double
  public let verticalAccuracyMetres: Double
  /// The velocity: north, east, down; `nil` in HNR-PVT.
  public let velocityMetresPerSecond: SIMD3<Double>?
  public let groundSpeedMetresPerSecond: Double
  /// The direction of the motion, not of the vehicle.
  public let trackDegrees: Double
  public let speedAccuracyMetresPerSecond: Double
  public let trackAccuracyDegrees: Double
  public let pdop: Double?
  /// The greatest possible age of the corrections; `nil` if the message does not state it.
  public let correctionAgeSeconds: Double?

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    switch message.kind {
    case UBXKind.navPVT where payload.count >= 84: self.init(navPVT: payload)
    case UBXKind.hnrPVT where payload.count >= 72: self.init(hnrPVT: payload)
    default: return nil
    }
  }

  private init(navPVT payload: LittleEndianBytes) {
    timeOfWeekMilliseconds = payload.uint32(0)
    date = NavigationDate(payload, year: 4, validity: payload.uint8(11), nanoseconds: 16)
    timeAccuracyNanoseconds = payload.uint32(12)
    fixType = NavigationFixType(payload.uint8(20))
    let flags = payload.uint8(21)
    isFixOK = flags & 1 != 0
    // Before protocol 15 these bytes have another meaning.
    let moreFlags = payload.count >= 92 ? payload.uint8(78) : 0
    isPositionValid = moreFlags & 1 == 0
    isDifferential = flags & 2 != 0
    carrier = Carrier(rawValue: flags >> 6) ?? .none
    satellitesUsed = payload.uint8(23)
    longitudeDegrees = Double(payload.int32(24)) * 1e-7
    latitudeDegrees = Double(payload.int32(28)) * 1e-7
    altitudeHAEMetres = Double(payload.int32(32)) / 1000
    altitudeMSLMetres = Double(payload.int32(36)) / 1000
    horizontalAccuracyMetres = Double(payload.uint32(40)) / 1000
    verticalAccuracyMetres = Double(payload.uint32(44)) / 1000
    velocityMetresPerSecond =
      SIMD3(Double(payload.int32(48)), Double(payload.int32(52)), Double(payload.int32(56))) / 1000
    groundSpeedMetresPerSecond = Double(payload.int32(60)) / 1000
    trackDegrees = Double(payload.int32(64)) * 1e-5
    speedAccuracyMetresPerSecond = Double(payload.uint32(68)) / 1000
    trackAccuracyDegrees = Double(payload.uint32(72)) * 1e-5
    pdop = Double(payload.uint16(76)) / 100
    correctionAgeSeconds = NavigationPVT.correctionAge(moreFlags >> 1 & 0xF)
  }

  /// Returns the upper limit of a range of ages, which the message states as a number. The last range has no upper
  /// limit, so for this range the lower limit is returned (u-blox F9 interface description, UBX-NAV-PVT, flags3).
  private static func correctionAge(_ step: UInt8) -> Double? {
    step == 0 ? nil : longestAges[min(Int(step), longestAges.count) - 1]
  }

  private static let longestAges: [Double] = [1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120]

  private init(hnrPVT payload: LittleEndianBytes) {
    timeOfWeekMilliseconds = payload.uint32(0)
    date = NavigationDate(payload, year: 4, validity: payload.uint8(11), nanoseconds: 12)
    timeAccuracyNanoseconds = .max
    fixType = NavigationFixType(payload.uint8(16))
    let flags = payload.uint8(17)
    isFixOK = flags & 1 != 0
    isPositionValid = true
    isDifferential = flags & 2 != 0
    carrier = .none
    satellitesUsed = nil
    longitudeDegrees = Double(payload.int32(20)) * 1e-7
    latitudeDegrees = Double(payload.int32(24)) * 1e-7
    altitudeHAEMetres = Double(payload.int32(28)) / 1000
    altitudeMSLMetres = Double(payload.int32(32)) / 1000
    horizontalAccuracyMetres = Double(payload.uint32(52)) / 1000
    verticalAccuracyMetres = Double(payload.uint32(56)) / 1000
    velocityMetresPerSecond = nil
    groundSpeedMetresPerSecond = Double(payload.int32(36)) / 1000
    trackDegrees = Double(payload.int32(44)) * 1e-5
    speedAccuracyMetresPerSecond = Double(payload.uint32(60)) / 1000
    trackAccuracyDegrees = Double(payload.uint32(64)) * 1e-5
    pdop = nil
    correctionAgeSeconds = nil
  }
}

/// The kind of a solution, numbered as u-blox does.
public enum NavigationFixType: UInt8, Equatable, Sendable {
  case none = 0
  case deadReckoning = 1
  case twoDimensional = 2
  case threeDimensional = 3
  case combined = 4
  /// The position was surveyed, and is an input of the receiver.
  case timeOnly = 5

  /// An unknown kind counts as no fix.
  init(_ value: UInt8) { self = NavigationFixType(rawValue: value) ?? .none }
}
