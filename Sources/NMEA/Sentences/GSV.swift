/// Satellites in view, up to four to a sentence.
public struct GSV: Equatable, Sendable {
  /// The number of sentences in the list, and the index of this one, counted from 1.
  public var sentenceCount: UInt8
  public var sentenceIndex: UInt8
  public var satellitesInView: UInt8
  public var satellites: InlineArray<4, Entry>
  public var satelliteCount: UInt8
  /// NMEA 4.10's signal ID, whose meaning depends on the system; 0 if it is not sent.
  public var signalID: UInt8
  /// Quectel appends the system to sentences of its own talker PQ (4 BeiDou, 5 QZSS).
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
