/// Dilution of precision and the satellites used in the fix.
public struct GSA: Equatable, Sendable {
  /// The fix mode; `nil` if the receiver sends another value, as some receivers do while dead reckoning.
  public var mode: FixMode?
  /// The numbers as in the sentence; `SatelliteNumber` explains their meaning.
  public var satellites: InlineArray<24, UInt16>
  public var satelliteCount: Int
  public var pdop: Double?
  public var hdop: Double?
  public var vdop: Double?
  /// The system that these satellites belong to (NMEA 4.10 and later).
  public var systemID: Int?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 17 else { return nil }
    // The standard has twelve numbers, but some receivers send up to 24: three DOPs and the optional system ID follow
    // the last number.
    let slots = fields.remaining <= 18 ? 12 : min(fields.remaining - 5, 24)
    fields.skip()
    mode = fields.integer().flatMap { UInt8(exactly: $0) }.flatMap(FixMode.init(gsa:))
    satellites = InlineArray(repeating: 0)
    satelliteCount = 0
    for _ in 0..<slots {
      if let number = fields.integer(), (1...600).contains(number) {
        satellites[satelliteCount] = UInt16(number)
        satelliteCount += 1
      }
    }
    pdop = fields.number()
    hdop = fields.number()
    vdop = fields.number()
    // SiRF's TriG sends a decimal number here, which is not a system ID.
    if fields.remaining > 0, let system = fields.decimal(), !system.hasPoint, system.mantissa < 100 {
      systemID = Int(system.mantissa)
    } else {
      systemID = nil
    }
  }

  public static func == (lhs: GSA, rhs: GSA) -> Bool {
    guard
      lhs.mode == rhs.mode, lhs.satelliteCount == rhs.satelliteCount, lhs.pdop == rhs.pdop, lhs.hdop == rhs.hdop,
      lhs.vdop == rhs.vdop, lhs.systemID == rhs.systemID
    else { return false }
    return (0..<lhs.satelliteCount).allSatisfy { lhs.satellites[$0] == rhs.satellites[$0] }
  }
}
