/// The ranges of the possible values that receivers and instruments state, for any protocol.
///
/// A value outside its range is not a measurement. It comes from a damaged sentence whose checksum is right by chance,
/// or from a faulty receiver. Such a value is left out, and not clamped. The ranges include every use of a receiver;
/// the fusion decides about values that are possible but unlikely.
enum StatedRange {
  /// The range of heights, from below the deepest sea floor (10.9 km) to the end of GPS' terrestrial service volume
  /// (3000 km, GPS SPS Performance Standard of 2020, section 1.3). Most modules stop at 50 or 80 km, but modules
  /// without export limits fly on satellites.
  static let heightMetres = -12_000.0...3_000_000.0
  /// The range of the geoid separation. The geoid is at most 107 m below and 86 m above the ellipsoid (EGM96).
  static let geoidSeparationMetres = -200.0...200.0
  /// The range of speeds. A satellite in a low orbit moves at 7.9 km/s, and the escape velocity is 11.2 km/s.
  static let speedMetresPerSecond = 0.0...12_000.0
  static let componentMetresPerSecond = -12_000.0...12_000.0
  static let courseDegrees = 0.0...360.0
  static let angleDegrees = -180.0...180.0
  /// The range of position errors, up to half of the Earth's circumference. u-blox states an unknown value as 4,294,967
  /// m.
  static let errorMetres = 0.0...20_037_508.0
  /// The range of speed errors, up to the largest value of u-blox's fields: 2^32 mm/s.
  static let errorMetresPerSecond = 0.0...4_294_968.0
  static let errorDegrees = 0.0...42_950.0
  /// The range of ages of corrections. After a week, corrections are useless.
  static let ageSeconds = 0.0...604_800.0
  /// The range of depths. The depth is negative if the keel is in the ground.
  static let depthMetres = -100.0...12_000.0
  static let waterCelsius = -10.0...110.0
  /// The range of rates of turn, up to a turn per second.
  static let turnDegreesPerMinute = -21_600.0...21_600.0
}

/// The kinds of values that a receiver states.
public struct StatedQuantities: OptionSet, Sendable {
  public let rawValue: UInt16

  public init(rawValue: UInt16) { self.rawValue = rawValue }

  public static let positions = StatedQuantities(rawValue: 1 << 0)
  public static let heights = StatedQuantities(rawValue: 1 << 1)
  public static let speeds = StatedQuantities(rawValue: 1 << 2)
  public static let courses = StatedQuantities(rawValue: 1 << 3)
  public static let horizontalErrors = StatedQuantities(rawValue: 1 << 4)
  public static let verticalErrors = StatedQuantities(rawValue: 1 << 5)
  public static let speedErrors = StatedQuantities(rawValue: 1 << 6)
  public static let correctionAges = StatedQuantities(rawValue: 1 << 7)
  public static let depths = StatedQuantities(rawValue: 1 << 8)
  public static let temperatures = StatedQuantities(rawValue: 1 << 9)
  public static let attitudes = StatedQuantities(rawValue: 1 << 10)

  private static let named: [(StatedQuantities, String)] = [
    (.positions, "positions"), (.heights, "heights"), (.speeds, "speeds"), (.courses, "courses"),
    (.horizontalErrors, "horizontal errors"), (.verticalErrors, "vertical errors"), (.speedErrors, "errors of speed"),
    (.correctionAges, "ages of corrections"), (.depths, "depths"), (.temperatures, "temperatures"),
    (.attitudes, "attitudes"),
  ]

  /// The names to show, for example `heights, speeds`.
  public var names: String { StatedQuantities.named.filter { contains($0.0) }.map(\.1).joined(separator: ", ") }
}

/// The counts of a receiver's impossible values.
public struct RefusedValues: Equatable, Sendable {
  /// The number of sentences and messages with impossible values.
  public var count = 0
  /// The number of sentences and messages with impossible values of each kind, by the bit of the kind.
  private var counts = SIMD16<UInt32>()

  public init() {}

  public var quantities: StatedQuantities { quantities(since: RefusedValues()) }

  /// The kinds of the impossible values since an earlier count.
  public func quantities(since before: RefusedValues) -> StatedQuantities {
    var bits: UInt16 = 0
    for index in 0..<16 where counts[index] != before.counts[index] { bits |= 1 << UInt16(index) }
    return StatedQuantities(rawValue: bits)
  }

  mutating func note(_ quantities: StatedQuantities) {
    if quantities.isEmpty { return }
    count += 1
    for index in 0..<16 where quantities.rawValue & 1 << UInt16(index) != 0 { counts[index] &+= 1 }
  }

  public static func + (a: RefusedValues, b: RefusedValues) -> RefusedValues {
    var sum = a
    sum.count += b.count
    sum.counts &+= b.counts
    return sum
  }
}

extension StatedQuantities {
  /// Removes a value that is outside its range or is not a number.
  @inline(__always)
  fileprivate mutating func drop(
    _ value: inout Double?, outside range: ClosedRange<Double>, _ quantity: StatedQuantities
  ) {
    guard let present = value, !range.contains(present) else { return }
    value = nil
    insert(quantity)
  }

  @inline(__always)
  fileprivate mutating func drop(
    _ value: inout SIMD3<Float>?, outside range: ClosedRange<Double>, _ quantity: StatedQuantities
  ) {
    guard let present = value else { return }
    guard !range.contains(Double(present.x)) || !range.contains(Double(present.y)) || !range.contains(Double(present.z))
    else { return }
    value = nil
    insert(quantity)
  }
}

extension FixUpdate {
  /// Removes impossible values, and adds their kinds to `refused`.
  mutating func refuse() {
    refused.drop(&values.altitudeHAEMetres, outside: StatedRange.heightMetres, .heights)
    refused.drop(&values.altitudeMSLMetres, outside: StatedRange.heightMetres, .heights)
    refused.drop(&values.geoidSeparationMetres, outside: StatedRange.geoidSeparationMetres, .heights)
    refused.drop(&values.speedMetresPerSecond, outside: StatedRange.speedMetresPerSecond, .speeds)
    refused.drop(&values.climbMetresPerSecond, outside: StatedRange.componentMetresPerSecond, .speeds)
    if let velocity = values.velocity, !velocity.isPossible {
      values.velocity = nil
      refused.insert(.speeds)
    }
    refused.drop(&values.trackDegrees, outside: StatedRange.courseDegrees, .courses)
    refused.drop(&values.magneticTrackDegrees, outside: StatedRange.courseDegrees, .courses)
    refused.drop(&values.magneticVariationDegrees, outside: StatedRange.angleDegrees, .courses)
    // Many receivers use an impossible value for an unknown dilution, so such a dilution is removed, but not counted.
    values.pdop = DilutionOfPrecision.valid(values.pdop)
    values.hdop = DilutionOfPrecision.valid(values.hdop)
    values.vdop = DilutionOfPrecision.valid(values.vdop)
    refuseErrors()
    refused.drop(&values.differentialAgeSeconds, outside: StatedRange.ageSeconds, .correctionAges)
    refused.drop(&values.depthMetres, outside: StatedRange.depthMetres, .depths)
    refused.drop(&values.waterTemperatureCelsius, outside: StatedRange.waterCelsius, .temperatures)
  }

  private mutating func refuseErrors() {
    refused.drop(&values.horizontalErrorMetres, outside: StatedRange.errorMetres, .horizontalErrors)
    refused.drop(&values.latitudeErrorMetres, outside: StatedRange.errorMetres, .horizontalErrors)
    refused.drop(&values.longitudeErrorMetres, outside: StatedRange.errorMetres, .horizontalErrors)
    refused.drop(&values.sphericalErrorMetres, outside: StatedRange.errorMetres, .horizontalErrors)
    refused.drop(&values.verticalErrorMetres, outside: StatedRange.errorMetres, .verticalErrors)
    refused.drop(&values.positionSigmas, outside: StatedRange.errorMetres, [.horizontalErrors, .verticalErrors])
    refused.drop(&values.speedErrorMetresPerSecond, outside: StatedRange.errorMetresPerSecond, .speedErrors)
    refused.drop(&values.velocitySigmas, outside: StatedRange.errorMetresPerSecond, .speedErrors)
    refused.drop(&values.trackErrorDegrees, outside: StatedRange.errorDegrees, .speedErrors)
  }

  /// The position that a message states; `nil` if it is not on Earth.
  mutating func place(_ latitudeDegrees: Double, _ longitudeDegrees: Double) -> Coordinate? {
    guard abs(latitudeDegrees) <= 90, abs(longitudeDegrees) <= 180 else {
      refused.insert(.positions)
      return nil
    }
    return Coordinate(latitudeDegrees: latitudeDegrees, longitudeDegrees: longitudeDegrees)
  }
}

extension Velocity {
  fileprivate var isPossible: Bool {
    let range = StatedRange.componentMetresPerSecond
    return range.contains(northMetresPerSecond) && range.contains(eastMetresPerSecond)
      && range.contains(downMetresPerSecond)
  }
}

extension GST {
  /// Removes impossible values.
  ///
  /// - Returns: the kinds of the removed values
  mutating func refuse() -> StatedQuantities {
    var refused: StatedQuantities = []
    // The RMS of the residuals is not an error of the position. An impossible RMS is therefore removed, but not
    // counted.
    if let rms = rangeRMSMetres, !StatedRange.errorMetres.contains(rms) { rangeRMSMetres = nil }
    refused.drop(&semiMajorMetres, outside: StatedRange.errorMetres, .horizontalErrors)
    refused.drop(&semiMinorMetres, outside: StatedRange.errorMetres, .horizontalErrors)
    refused.drop(&latitudeSigmaMetres, outside: StatedRange.errorMetres, .horizontalErrors)
    refused.drop(&longitudeSigmaMetres, outside: StatedRange.errorMetres, .horizontalErrors)
    refused.drop(&altitudeSigmaMetres, outside: StatedRange.errorMetres, .verticalErrors)
    return refused
  }
}

extension NMEAAttitude {
  /// Removes impossible values.
  ///
  /// - Returns: the kinds of the removed values
  mutating func refuse() -> StatedQuantities {
    var refused: StatedQuantities = []
    refused.drop(&headingDegrees, outside: StatedRange.courseDegrees, .attitudes)
    refused.drop(&magneticHeadingDegrees, outside: StatedRange.courseDegrees, .attitudes)
    refused.drop(&pitchDegrees, outside: StatedRange.angleDegrees, .attitudes)
    refused.drop(&rollDegrees, outside: StatedRange.angleDegrees, .attitudes)
    refused.drop(&rateOfTurnDegreesPerMinute, outside: StatedRange.turnDegreesPerMinute, .attitudes)
    return refused
  }
}

extension GNSSFix {
  /// Removes values that depend on a value that was refused in the same epoch. A position with an impossible error
  /// would otherwise have the weight of a position without a stated error.
  mutating func leaveOut(_ refused: StatedQuantities) {
    if refused.isEmpty { return }
    if refused.contains(.horizontalErrors) {
      position = nil
      mode = .noFix
      status = .unknown
    }
    if refused.contains(.verticalErrors) { (altitudeHAEMetres, altitudeMSLMetres) = (nil, nil) }
    if refused.contains(.speedErrors) {
      (speedMetresPerSecond, velocity, climbMetresPerSecond) = (nil, nil, nil)
    }
    let lacksHeight = altitudeHAEMetres == nil && altitudeMSLMetres == nil
    if lacksHeight, !refused.isDisjoint(with: [.heights, .verticalErrors]) { mode = min(mode, .twoDimensional) }
  }
}
