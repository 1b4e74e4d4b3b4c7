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

/// Satellites in view, up to four to a sentence.
public struct GSV: Equatable, Sendable {
  /// The number of sentences in the list.
  public var sentenceCount: UInt8
  /// The index of this sentence in the list, from 1.
  public var sentenceIndex: UInt8
  public var satellitesInView: UInt8
  public var satellites: InlineArray<4, Entry>
  public var satelliteCount: UInt8
  /// NMEA 4.10's signal ID, whose meaning depends on the system; 0 if it is not sent.
  public var signalID: UInt8
  /// The system, which Quectel appends to sentences of its own talker PQ (4 BeiDou, 5 QZSS); `nil` in other sentences.
  public var systemID: UInt8?

  public struct Entry: Equatable, Sendable {
    /// The number as in the sentence.
    public var number: UInt16
    /// The elevation, -90 to 90; 0, like the azimuth, if the direction is unknown.
    public var elevationDegrees: Int8
    /// The azimuth from true north, 0 to 360.
    public var azimuthDegrees: UInt16
    /// The carrier to noise density, dB-Hz, 0 to 99; 0 while not tracked.
    public var signalStrength: UInt8

    /// An impossible value counts as unknown, and is not clamped.
    @inline(__always)
    init(number: Int, elevation: Int, azimuth: Int, strength: Int) {
      let hasDirection = (-90...90).contains(elevation) && (0...360).contains(azimuth)
      self.number = UInt16(clamping: number)
      elevationDegrees = hasDirection ? Int8(truncatingIfNeeded: elevation) : 0
      azimuthDegrees = hasDirection ? UInt16(truncatingIfNeeded: azimuth) : 0
      signalStrength = (0...99).contains(strength) ? UInt8(truncatingIfNeeded: strength) : 0
    }
  }

  /// Whether the list is complete with this sentence.
  var isLast: Bool { sentenceIndex >= sentenceCount }

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    let count = fields.remaining
    guard count >= 3 else { return nil }
    // After the three counts, the sentence has groups of four fields. If one field remains, it is the signal ID. If two
    // fields remain, they are the signal ID and the system ID.
    let remainder = (count - 3) % 4
    guard remainder <= 2 else { return nil }
    sentenceCount = UInt8(clamping: fields.integer() ?? 0)
    sentenceIndex = UInt8(clamping: fields.integer() ?? 0)
    satellitesInView = UInt8(clamping: fields.integer() ?? 0)
    guard sentenceIndex >= 1 else { return nil }
    satellites = InlineArray(
      repeating: Entry(number: 0, elevation: 0, azimuth: 0, strength: 0))
    satelliteCount = 0
    for _ in 0..<min((count - 3) / 4, 4) {
      let entry = Entry(
        number: fields.integer() ?? 0, elevation: fields.integer() ?? 0, azimuth: fields.integer() ?? 0,
        strength: fields.integer() ?? 0)
      // Some receivers fill the last sentence of a list with empty groups.
      if entry.number > 0 {
        satellites[Int(satelliteCount)] = entry
        satelliteCount += 1
      }
    }
    signalID = remainder >= 1 ? fields.hexadecimalDigit() ?? 0 : 0
    systemID = remainder == 2 ? fields.integer().map { UInt8(clamping: $0) } : nil
    // Only Quectel sends a system ID, and only 4 or 5. Any other value comes from a damaged group.
    if remainder == 2, systemID != 4, systemID != 5 { return nil }
  }

  public static func == (lhs: GSV, rhs: GSV) -> Bool {
    guard
      lhs.sentenceCount == rhs.sentenceCount, lhs.sentenceIndex == rhs.sentenceIndex,
      lhs.satellitesInView == rhs.satellitesInView, lhs.satelliteCount == rhs.satelliteCount,
      lhs.signalID == rhs.signalID, lhs.systemID == rhs.systemID
    else { return false }
    return (0..<Int(lhs.satelliteCount)).allSatisfy { lhs.satellites[$0] == rhs.satellites[$0] }
  }
}

/// Pseudorange noise statistics: the receiver's own standard deviations.
public struct GST: Equatable, Sendable {
  public var time: TimeOfDay?
  /// The RMS of the standard deviations of the ranges in the solution, metres.
  public var rangeRMSMetres: Double?
  public var semiMajorMetres: Double?
  public var semiMinorMetres: Double?
  /// The direction of the error ellipse's major axis, degrees from true north.
  public var orientationDegrees: Double?
  public var latitudeSigmaMetres: Double?
  public var longitudeSigmaMetres: Double?
  public var altitudeSigmaMetres: Double?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 7 else { return nil }
    time = fields.timeOfDay()
    rangeRMSMetres = fields.number()
    semiMajorMetres = fields.number()
    semiMinorMetres = fields.number()
    orientationDegrees = fields.number()
    latitudeSigmaMetres = fields.number()
    longitudeSigmaMetres = fields.number()
    altitudeSigmaMetres = fields.number()
  }
}

/// Satellite fault detection: expected errors, one standard deviation.
public struct GBS: Equatable, Sendable {
  public var time: TimeOfDay?
  public var latitudeErrorMetres: Double?
  public var longitudeErrorMetres: Double?
  public var altitudeErrorMetres: Double?
  /// The satellite that has most likely failed.
  public var failedSatellite: Int?

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    time = fields.timeOfDay()
    latitudeErrorMetres = fields.number()
    longitudeErrorMetres = fields.number()
    altitudeErrorMetres = fields.number()
    failedSatellite = fields.integer()
  }
}

/// Range residuals of the satellites in the fix, in the order of GSA.
public struct GRS: Equatable, Sendable {
  public var time: TimeOfDay?
  /// Whether the residuals were recomputed after the position, and not used to compute it.
  public var isRecomputed: Bool
  /// The residuals in metres; NaN for an empty field.
  public var residualsMetres: InlineArray<12, Float>

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 3 else { return nil }
    time = fields.timeOfDay()
    isRecomputed = fields.integer() == 1
    residualsMetres = InlineArray(repeating: .nan)
    for index in 0..<min(fields.remaining, 12) { residualsMetres[index] = fields.number().map { Float($0) } ?? .nan }
  }

  public static func == (lhs: GRS, rhs: GRS) -> Bool {
    lhs.time == rhs.time && lhs.isRecomputed == rhs.isRecomputed
      && (0..<12).allSatisfy {
        lhs.residualsMetres[$0] == rhs.residualsMetres[$0]
          || (lhs.residualsMetres[$0].isNaN && rhs.residualsMetres[$0].isNaN)
      }
  }
}
