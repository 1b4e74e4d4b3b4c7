/// NAV-SOL: a solution in earth-centred coordinates, for receivers up to protocol 13; 52 bytes.
public struct NavigationSolution {
  public let timeOfWeekMilliseconds: UInt32
  /// The nanoseconds to add to the time of week.
  public let fractionNanoseconds: Int32
  /// The GPS week since 1980; `nil` unless week and time of week are known.
  public let week: Int16?
  public let fixType: NavigationFixType
  public let isDifferential: Bool
  public let positionMetres: SIMD3<Double>
  /// The accuracy of the position in three dimensions.
  public let positionAccuracyMetres: Double
  public let velocityMetresPerSecond: SIMD3<Double>
  public let speedAccuracyMetresPerSecond: Double
  public let pdop: Double
  public let satellitesUsed: UInt8

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.kind == UBXKind.navSOL, payload.count >= 52 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    fractionNanoseconds = payload.int32(4)
    let flags = payload.uint8(11)
    week =
      flags & 0b1100 == 0b1100
      ? GPSWeek.plausible(
        payload.int16(8), timeOfWeekMilliseconds: timeOfWeekMilliseconds, fractionNanoseconds: fractionNanoseconds)
      : nil
    fixType = NavigationFixType(payload.uint8(10))
    isDifferential = flags & 2 != 0
    positionMetres = SIMD3(Double(payload.int32(12)), Double(payload.int32(16)), Double(payload.int32(20))) / 100
    positionAccuracyMetres = Double(payload.uint32(24)) / 100
    velocityMetresPerSecond =
      SIMD3(Double(payload.int32(28)), Double(payload.int32(32)), Double(payload.int32(36))) / 100
    speedAccuracyMetresPerSecond = Double(payload.uint32(40)) / 100
    pdop = Double(payload.uint16(44)) / 100
    satellitesUsed = payload.uint8(47)
  }
}

/// NAV-POSLLH and NAV-HPPOSLLH: a position. NAV-HPPOSLLH states it to a tenth of a millimetre.
public struct NavigationPosition {
  public let timeOfWeekMilliseconds: UInt32
  public let latitudeDegrees: Double
  public let longitudeDegrees: Double
  public let altitudeHAEMetres: Double
  public let altitudeMSLMetres: Double
  public let horizontalAccuracyMetres: Double
  public let verticalAccuracyMetres: Double

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    switch message.kind {
    case UBXKind.navPOSLLH where payload.count >= 28: self.init(payload, at: 0)
    // The lowest flag of NAV-HPPOSLLH marks all values as invalid.
    case UBXKind.navHPPOSLLH where payload.count >= 36 && payload.uint8(3) & 1 == 0: self.init(highPrecision: payload)
    default: return nil
    }
  }

  private init(_ payload: LittleEndianBytes, at start: Int) {
    timeOfWeekMilliseconds = payload.uint32(start)
    longitudeDegrees = Double(payload.int32(start + 4)) * 1e-7
    latitudeDegrees = Double(payload.int32(start + 8)) * 1e-7
    altitudeHAEMetres = Double(payload.int32(start + 12)) / 1000
    altitudeMSLMetres = Double(payload.int32(start + 16)) / 1000
    horizontalAccuracyMetres = Double(payload.uint32(start + 20)) / 1000
    verticalAccuracyMetres = Double(payload.uint32(start + 24)) / 1000
  }

  private init(highPrecision payload: LittleEndianBytes) {
    timeOfWeekMilliseconds = payload.uint32(4)
    longitudeDegrees = Double(payload.int32(8)) * 1e-7 + Double(payload.int8(24)) * 1e-9
    latitudeDegrees = Double(payload.int32(12)) * 1e-7 + Double(payload.int8(25)) * 1e-9
    altitudeHAEMetres = Double(payload.int32(16)) / 1e3 + Double(payload.int8(26)) / 1e4
    altitudeMSLMetres = Double(payload.int32(20)) / 1e3 + Double(payload.int8(27)) / 1e4
    horizontalAccuracyMetres = Double(payload.uint32(28)) / 1e4
    verticalAccuracyMetres = Double(payload.uint32(32)) / 1e4
  }
}

/// NAV-VELNED: the velocity over ground, for receivers up to protocol 13; 36 bytes.
public struct NavigationVelocity {
  public let timeOfWeekMilliseconds: UInt32
  /// The velocity: north, east, down.
  public let velocityMetresPerSecond: SIMD3<Double>
  public let groundSpeedMetresPerSecond: Double
  public let trackDegrees: Double
  public let speedAccuracyMetresPerSecond: Double
  public let trackAccuracyDegrees: Double

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.kind == UBXKind.navVELNED, payload.count >= 36 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    velocityMetresPerSecond = SIMD3(Double(payload.int32(4)), Double(payload.int32(8)), Double(payload.int32(12))) / 100
    groundSpeedMetresPerSecond = Double(payload.uint32(20)) / 100
    trackDegrees = Double(payload.int32(24)) * 1e-5
    speedAccuracyMetresPerSecond = Double(payload.uint32(28)) / 100
    trackAccuracyDegrees = Double(payload.uint32(32)) * 1e-5
  }
}

/// NAV-RELPOSNED, version 1: the position of the rover's antenna relative to the base's; 64 bytes. Version 0 has no
/// heading.
public struct NavigationRelativePosition {
  public let timeOfWeekMilliseconds: UInt32
  /// The direction of the line from the base's antenna to the rover's, from true north, 0 to 360; `nil` unless both are
  /// on the same body, and the ambiguities between them are fixed.
  public let headingDegrees: Double?
  public let headingAccuracyDegrees: Double

  // The bits of the flags (u-blox F9 HPG interface description, UBX-NAV-RELPOSNED).
  private static let isFixOK: UInt32 = 1 << 0
  private static let isPositionValid: UInt32 = 1 << 2
  private static let carrierShift: UInt32 = 3
  private static let carrierFixed: UInt32 = 2
  private static let isMovingBase: UInt32 = 1 << 5
  private static let isHeadingValid: UInt32 = 1 << 8

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.kind == UBXKind.navRELPOSNED, payload.count >= 64, payload.uint8(0) == 1 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(4)
    headingAccuracyDegrees = Double(payload.uint32(52)) * 1e-5
    let flags = payload.uint32(60)
    typealias Own = NavigationRelativePosition
    let needed = Own.isFixOK | Own.isPositionValid | Own.isMovingBase | Own.isHeadingValid
    let isFixed = flags >> Own.carrierShift & 3 == Own.carrierFixed
    headingDegrees = flags & needed == needed && isFixed ? Double(payload.int32(24)) * 1e-5 : nil
  }
}

/// NAV-DOP: dilutions of precision; 18 bytes.
public struct NavigationDilution {
  public let timeOfWeekMilliseconds: UInt32
  public let pdop: Double
  public let hdop: Double
  public let vdop: Double

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.kind == UBXKind.navDOP, payload.count >= 18 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    pdop = Double(payload.uint16(6)) / 100
    vdop = Double(payload.uint16(10)) / 100
    hdop = Double(payload.uint16(12)) / 100
  }
}

/// The variances of position and velocity from NAV-COV, which also has their covariances; 64 bytes.
public struct NavigationCovariance {
  public let timeOfWeekMilliseconds: UInt32
  /// The variances north, east, down in square metres; `nil` if unknown.
  public let positionVariances: SIMD3<Double>?
  /// The variances of the velocity north, east, down in m²/s²; `nil` if unknown.
  public let velocityVariances: SIMD3<Double>?

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.kind == UBXKind.navCOV, payload.count >= 64 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    positionVariances = payload.uint8(5) == 1 ? NavigationCovariance.diagonal(payload, at: 16) : nil
    velocityVariances = payload.uint8(6) == 1 ? NavigationCovariance.diagonal(payload, at: 40) : nil
  }

  /// Reads the diagonal of a symmetric matrix that is stored as six numbers, row by row; `nil` if a number on
  /// the diagonal cannot be a variance.
  private static func diagonal(_ payload: LittleEndianBytes, at start: Int) -> SIMD3<Double>? {
    let values = SIMD3(
      Double(payload.float(start)), Double(payload.float(start + 12)), Double(payload.float(start + 20)))
    return values.min() >= 0 && values.max() < 1e12 ? values : nil
  }
}

/// NAV-STATUS: the kind of a solution, the detection of spoofing, and the times since the receiver's start; 16 bytes.
public struct NavigationStatus {
  public let timeOfWeekMilliseconds: UInt32
  public let fixType: NavigationFixType
  public let isFixOK: Bool
  public let isDifferential: Bool
  public let carrier: NavigationPVT.Carrier
  public let spoofing: SpoofingReport
  /// The time from the start to the first fix; 0 before that.
  public let timeToFirstFixMilliseconds: UInt32
  public let runTimeMilliseconds: UInt32

  public init?(_ message: borrowing BinaryFrame) {
    let payload = message.payload
    guard message.format == .ubx, message.kind == UBXKind.navSTATUS, payload.count >= 16 else { return nil }
    timeOfWeekMilliseconds = payload.uint32(0)
    fixType = NavigationFixType(payload.uint8(4))
    isFixOK = payload.uint8(5) & 1 != 0
    isDifferential = payload.uint8(5) & 2 != 0
    // The two bits of the carrier are valid only if the second flag of fixStat is set (u-blox F9 interface description,
    // UBX-NAV-STATUS).
    let isCarrierKnown = payload.uint8(6) & 2 != 0
    carrier = isCarrierKnown ? NavigationPVT.Carrier(rawValue: payload.uint8(7) >> 6) ?? .none : .none
    spoofing = SpoofingReport(rawValue: payload.uint8(7) >> 3 & 3) ?? .unknown
    timeToFirstFixMilliseconds = payload.uint32(8)
    runTimeMilliseconds = payload.uint32(12)
  }
}
