/// The heading of the bow from HDG, HDM, HDT or THS.
public struct Heading: Equatable, Sendable {
  /// The heading in degrees from true north, 0 to 360.
  public var trueDegrees: Double?
  /// The heading in degrees from magnetic north, corrected for the deviation if the sentence states it.
  public var magneticDegrees: Double?
  /// The variation; positive if magnetic north is east of true north.
  public var variationDegrees: Double?
  /// Whether the true heading is measured, and not estimated, entered or simulated.
  public var isMeasured = false

  init?(hdg fields: inout FieldReader) {
    let sensor = fields.direction()
    let deviation = fields.signed(positive: Byte.E, negative: Byte.W)
    variationDegrees = fields.signed(positive: Byte.E, negative: Byte.W)
    // With an impossible deviation, the heading is unknown.
    guard abs(deviation ?? 0) <= 180 else { return }
    magneticDegrees = sensor.map { Angle.onCircle($0 + (deviation ?? 0)) }
  }

  init?(hdm fields: inout FieldReader) {
    guard fields.remaining >= 2 else { return nil }
    magneticDegrees = fields.direction()
  }

  init?(hdt fields: inout FieldReader) {
    trueDegrees = fields.direction()
    isMeasured = true
  }

  /// Reads THS, which states the source of the heading; `V` is invalid.
  init?(ths fields: inout FieldReader) {
    let heading = fields.direction()
    let mode = fields.character()
    trueDegrees = mode == nil || mode == Byte.V ? nil : heading
    isMeasured = mode == Byte.A
  }
}

/// Rate of turn.
public struct ROT: Equatable, Sendable {
  /// The rate of turn in degrees per minute, positive to starboard.
  public var degreesPerMinute: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 2 else { return nil }
    let rate = fields.number()
    degreesPerMinute = fields.character() == Byte.A ? rate : nil
  }
}

/// Wind, from MWD (its direction over ground) or MWV (its angle off the bow).
public struct Wind: Equatable, Sendable {
  public var directionTrueDegrees: Double?
  public var directionMagneticDegrees: Double?
  /// The angle of the true wind off the bow, clockwise, from MWV with the reference T (IEC 61162-1: theoretical). It is
  /// not a compass direction.
  public var trueAngleDegrees: Double?
  /// The speed of the true wind: over ground from MWD, and through the water from most senders of MWV.
  public var trueSpeedMetresPerSecond: Double?
  /// The angle of the apparent wind off the bow, clockwise.
  public var relativeAngleDegrees: Double?
  /// The speed of the apparent wind.
  public var relativeSpeedMetresPerSecond: Double?

  init?(mwd fields: inout FieldReader) {
    guard fields.remaining >= 7 else { return nil }
    directionTrueDegrees = fields.number()
    fields.skip()
    directionMagneticDegrees = fields.number()
    fields.skip()
    let knots = fields.number()
    fields.skip()
    trueSpeedMetresPerSecond = fields.number() ?? knots.map { $0 * Unit.metresPerSecondPerKnot }
  }

  init?(mwv fields: inout FieldReader) {
    guard fields.remaining >= 5 else { return nil }
    let angle = fields.number()
    let reference = fields.character()
    let speed = fields.number()
    let unit = fields.character()
    guard fields.character() == Byte.A else { return nil }
    let metresPerSecond =
      switch unit {
      case Byte.N: speed.map { $0 * Unit.metresPerSecondPerKnot }
      case UInt8(ascii: "K"): speed.map { $0 * Unit.metresPerSecondPerKilometrePerHour }
      case Byte.M: speed
      default: nil as Double?
      }
    switch reference {
    case Byte.R:
      relativeAngleDegrees = angle
      relativeSpeedMetresPerSecond = metresPerSecond
    case Byte.T:
      trueAngleDegrees = angle
      trueSpeedMetresPerSecond = metresPerSecond
    default: return nil
    }
  }
}

/// The depth of water from DBT (below the transducer) or DPT (below the keel if its offset is negative, and otherwise
/// below the transducer).
public struct Depth: Equatable, Sendable {
  public var depthMetres: Double?

  init?(belowTransducer fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    let feet = fields.number()
    fields.skip()
    let metres = fields.number()
    fields.skip()
    let fathoms = fields.number()
    // Sounders do not always fill in all three units.
    depthMetres = Depth.measured(
      metres ?? feet.map { $0 * Unit.metresPerFoot } ?? fathoms.map { $0 * Unit.metresPerFathom })
  }

  /// Reads DPT. The magnitude of a negative offset is the distance from the transducer down to the keel, and is
  /// subtracted from the depth. gpsd adds the distance, and so states more water than there is.
  init?(withOffset fields: inout FieldReader) {
    guard fields.remaining >= 1 else { return nil }
    let depth = Depth.measured(fields.number())
    let offset = fields.number() ?? 0
    depthMetres = depth.map { offset < 0 ? $0 + offset : $0 }
  }

  /// A measured depth, which cannot be negative.
  private static func measured(_ metres: Double?) -> Double? { metres.flatMap { $0 >= 0 ? $0 : nil } }
}

/// Water temperature.
public struct MTW: Equatable, Sendable {
  public var temperatureCelsius: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 2 else { return nil }
    let temperature = fields.number()
    temperatureCelsius = fields.character() == Byte.C ? temperature : nil
  }
}

/// Transducer measurements. Only angles and magnetic components are kept.
public struct XDR: Equatable, Sendable {
  public var pitchDegrees: Double?
  public var rollDegrees: Double?
  /// Magnetic field, in the transducer's own unit.
  public var magneticX: Double?
  public var magneticY: Double?
  public var magneticZ: Double?

  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 4 else { return nil }
    for _ in 0..<(fields.remaining / 4) {
      let type = fields.character()
      let value = fields.number()
      let unit = fields.character()
      let name = fields.bytes()
      guard let value else { continue }
      switch type {
      case Byte.A where unit == Byte.D:
        if name.spells("PTCH") || name.spells("PITCH") {
          pitchDegrees = value
        } else if name.spells("ROLL") {
          rollDegrees = value
        }
      case UInt8(ascii: "G"):
        if name.spells("MAGX") { magneticX = value }
        if name.spells("MAGY") { magneticY = value }
        if name.spells("MAGZ") { magneticZ = value }
      default: continue
      }
    }
  }
}
