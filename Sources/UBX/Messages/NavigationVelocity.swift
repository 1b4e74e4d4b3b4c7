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
