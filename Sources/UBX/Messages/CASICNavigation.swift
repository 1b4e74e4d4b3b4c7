/// CASIC's NAV-PV: position and velocity; 80 bytes.
public struct CASICNavigation {
  public enum Validity: UInt8, Sendable {
    case none = 0
    case external = 1
    case roughEstimate = 2
    case held = 3
    case deadReckoning = 4
    case quick = 5
    case twoDimensional = 6
    case threeDimensional = 7
    case combined = 8
  }

  /// Since the receiver began: the same in all messages of a solution.
  public let runTimeMilliseconds: UInt32
  public let position: Validity
  public let velocity: Validity
  public let satellitesUsed: UInt8
  public let pdop: Double
  public let longitudeDegrees: Double
  public let latitudeDegrees: Double
  public let altitudeHAEMetres: Double
  /// Of the geoid above the ellipsoid.
  public let geoidSeparationMetres: Double
  public let horizontalVarianceSquareMetres: Double
  public let verticalVarianceSquareMetres: Double
  /// North, east, up.
  public let velocityMetresPerSecond: SIMD3<Double>
  public let groundSpeedMetresPerSecond: Double
  public let trackDegrees: Double

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .casic, message.kind == CASICKind.navPV, payload.count >= 80 else { return nil }
    runTimeMilliseconds = payload.uint32(0)
    position = Validity(rawValue: payload.uint8(4)) ?? .none
    velocity = Validity(rawValue: payload.uint8(5)) ?? .none
    satellitesUsed = payload.uint8(7)
    pdop = Double(payload.float(12))
    longitudeDegrees = payload.double(16)
    latitudeDegrees = payload.double(24)
    altitudeHAEMetres = Double(payload.float(32))
    geoidSeparationMetres = Double(payload.float(36))
    horizontalVarianceSquareMetres = Double(payload.float(40))
    verticalVarianceSquareMetres = Double(payload.float(44))
    velocityMetresPerSecond = SIMD3(
      Double(payload.float(48)), Double(payload.float(52)), Double(payload.float(56)))
    groundSpeedMetresPerSecond = Double(payload.float(64))
    trackDegrees = Double(payload.float(68))
  }
}

/// CASIC's NAV-TIMEUTC; 24 bytes.
public struct CASICTime {
  public let runTimeMilliseconds: UInt32
  /// `nil` where the receiver does not vouch for it.
  public let date: NavigationDate?

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .casic, message.kind == CASICKind.navTIMEUTC, payload.count >= 24 else { return nil }
    runTimeMilliseconds = payload.uint32(0)
    let isValid = payload.uint8(21) != 0 && payload.uint8(23) != 0
    let date = NavigationDate(
      year: Int(payload.uint16(14)), month: Int(payload.uint8(16)), day: Int(payload.uint8(17)),
      hour: Int(payload.uint8(18)), minute: Int(payload.uint8(19)), second: Int(payload.uint8(20)),
      nanosecond: Int(payload.uint16(12)) * 1_000_000)
    self.date = isValid && date.isPossible ? date : nil
  }
}
