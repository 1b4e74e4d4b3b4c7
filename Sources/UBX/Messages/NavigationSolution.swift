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
