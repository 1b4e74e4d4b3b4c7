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
