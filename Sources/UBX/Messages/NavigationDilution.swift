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

  /// Reads the diagonal of a symmetric matrix that is stored as six numbers, row by row; `nil` if one of the diagonal
  /// cannot be a variance.
  private static func diagonal(_ payload: LittleEndianBytes, at start: Int) -> SIMD3<Double>? {
    let values = SIMD3(
      Double(payload.float(start)), Double(payload.float(start + 12)), Double(payload.float(start + 20)))
    return values.min() >= 0 && values.max() < 1e12 ? values : nil
  }
}
