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

    /// Whether the receiver has computed the value from measurements of this solution.
    public var isComputed: Bool { rawValue >= Validity.deadReckoning.rawValue }
  }

  /// The time since the receiver started, the same in all messages of a solution.
  public let runTimeMilliseconds: UInt32
  public let position: Validity
  public let velocity: Validity
  public let satellitesUsed: UInt8
  public let pdop: Double
  public let longitudeDegrees: Double
  public let latitudeDegrees: Double
  public let altitudeHAEMetres: Double
  /// The height of the geoid above the ellipsoid.
  public let geoidSeparationMetres: Double
  public let horizontalVarianceSquareMetres: Double
  public let verticalVarianceSquareMetres: Double
  /// The velocity: north, east, up.
  public let velocityMetresPerSecond: SIMD3<Double>
  public let groundSpeedMetresPerSecond: Double
  public let trackDegrees: Double
  public let groundSpeedVariance: Double

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
    groundSpeedVariance = Double(payload.float(72))
  }
}

/// CASIC's NAV-TIMEUTC; 24 bytes.
public struct CASICTime {
  public let runTimeMilliseconds: UInt32
  /// The date; `nil` if the receiver does not mark it as valid.
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

/// CASIC's NAV-DOP; 28 bytes.
public struct CASICDilution {
  public let runTimeMilliseconds: UInt32
  public let pdop: Double
  public let hdop: Double
  public let vdop: Double

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .casic, message.kind == CASICKind.navDOP, payload.count >= 28 else { return nil }
    runTimeMilliseconds = payload.uint32(0)
    pdop = Double(payload.float(4))
    hdop = Double(payload.float(8))
    vdop = Double(payload.float(12))
  }
}

/// CASIC's NAV-GPSINFO, NAV-BDSINFO and NAV-GLNINFO: the satellites of one system; 8 bytes, and 12 for each.
public struct CASICSatellites {
  public enum System: UInt8, Sendable {
    case gps = 0
    case beidou = 1
    case glonass = 2
  }

  public struct Entry: Equatable, Sendable {
    public let number: UInt8
    public let signalStrength: UInt8
    /// The elevation, -90 to 90; 0, like the azimuth, if the direction is unknown.
    public let elevationDegrees: Int8
    /// The azimuth, 0 to 360.
    public let azimuthDegrees: UInt16
    public let isUsed: Bool
  }

  public let runTimeMilliseconds: UInt32
  public let system: System
  public let count: Int
  private let payload: LittleEndianBytes

  public init?(_ message: borrowing BinaryFrame) {
    payload = message.payload
    guard message.format == .casic, payload.count >= 8 else { return nil }
    switch message.kind {
    case CASICKind.navGPSINFO: system = .gps
    case CASICKind.navBDSINFO: system = .beidou
    case CASICKind.navGLNINFO: system = .glonass
    default: return nil
    }
    runTimeMilliseconds = payload.uint32(0)
    count = min(Int(payload.uint8(4)), (payload.count - 8) / 12)
  }

  /// - Precondition: `index` is below `count`.
  public subscript(index: Int) -> Entry {
    let start = 8 + 12 * index
    let direction = payload.satelliteDirection(start + 5)
    return Entry(
      number: payload.uint8(start + 1), signalStrength: payload.uint8(start + 4),
      elevationDegrees: direction.elevation, azimuthDegrees: direction.azimuth,
      isUsed: payload.uint8(start + 2) & 1 != 0)
  }
}
