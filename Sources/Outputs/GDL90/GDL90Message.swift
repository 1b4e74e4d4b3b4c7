import Fusion
import Glibc
import NMEA

/// Messages of GDL 90 for tablets in cockpits (Garmin 560-1058-00 Rev A, "GDL 90 Data Interface Specification").
struct GDL90Message: Equatable {
  /// The identifier and the data, without the frame.
  var bytes: [UInt8]

  /// The message as sent, with flags, checksum and escapes (section 2.2).
  var frame: [UInt8] {
    let flag: UInt8 = 0x7E
    let escape: UInt8 = 0x7D
    let sum = GDL90Message.checksum(bytes)
    var frame = [flag]
    for byte in bytes + [UInt8(truncatingIfNeeded: sum), UInt8(sum >> 8)] {
      if byte == flag || byte == escape {
        frame += [escape, byte ^ 0x20]
      } else {
        frame.append(byte)
      }
    }
    return frame + [flag]
  }

  /// CRC-CCITT as in section 2.2.3, which combines the data after the table look-up.
  static func checksum(_ bytes: [UInt8]) -> UInt16 {
    var sum: UInt16 = 0
    for byte in bytes {
      var entry = sum & 0xFF00
      for _ in 0..<8 { entry = entry & 0x8000 != 0 ? entry << 1 ^ 0x1021 : entry << 1 }
      sum = entry ^ sum << 8 ^ UInt16(byte)
    }
    return sum
  }

  private init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// - Parameters:
  ///   - hasPosition: whether the position is known now
  ///   - second: the second of the UTC day; `nil` before the receiver has reported a time
  static func heartbeat(hasPosition: Bool, second: Int?, counts: (UInt8, UInt8) = (0, 0)) -> GDL90Message {
    let time = second ?? 0
    let status: UInt8 = hasPosition ? 0x81 : 0x01
    let clock: UInt8 = (time > 0xFFFF ? 0x80 : 0) | (second == nil ? 0 : 1)
    let low = [UInt8(truncatingIfNeeded: time), UInt8(truncatingIfNeeded: time >> 8)]
    return GDL90Message([0, status, clock] + low + [counts.0, counts.1])
  }

  /// The values of an ownship report, which has the board's position and motion.
  struct Ownship: Equatable {
    var latitudeDegrees = 0.0
    var longitudeDegrees = 0.0
    /// The pressure altitude in the standard atmosphere; `nil` without a barometer.
    var pressureAltitudeFeet: Double?
    /// The radius of a circle that contains 95 % of the positions.
    var radiusMetres: Double?
    var knots: Double?
    var feetPerMinute: Double?
    var trackDegrees: Double?
    /// The call sign, eight letters or digits.
    var callsign = "SENSORHB"
  }

  static func ownship(_ own: Ownship) -> GDL90Message {
    var bytes: [UInt8] = [10, 0x01]
    // The address is a self-assigned one, which no authority has issued.
    bytes += [0xF0, 0x00, 0x00]
    for degrees in [own.latitudeDegrees, own.longitudeDegrees] {
      let value = Int32((degrees * 0x80_0000 / 180).rounded())
      bytes += big(UInt32(bitPattern: value), 3)
    }
    let altitude = own.pressureAltitudeFeet.map { clamped(($0 + 1000) / 25, 0...0xFFE) } ?? 0xFFF
    let isAirborne = own.knots ?? 0 > 35
    let miscellaneous: UInt32 = (isAirborne ? 8 : 0) | (own.trackDegrees == nil ? 0 : 1)
    bytes += big(altitude << 4 | miscellaneous, 2)
    bytes.append(accuracy(own.radiusMetres))
    let speed = own.knots.map { clamped($0, 0...0xFFE) } ?? 0xFFF
    let climb = own.feetPerMinute.map { UInt32(bitPattern: Int32(min(max($0 / 64, -510), 510).rounded())) & 0xFFF }
    bytes += big(speed << 12 | (climb ?? 0x800), 3)
    bytes.append(UInt8(truncatingIfNeeded: Int((own.trackDegrees ?? 0) * 256 / 360 + 0.5)))
    bytes.append(1)
    bytes += Array((own.callsign + "        ").utf8.prefix(8))
    return GDL90Message(bytes + [0])
  }

  /// - Parameter sigmaMetres: the sigma of the height; `nil` if unknown
  static func geometricAltitude(feetHAE: Double, sigmaMetres: Double?) -> GDL90Message {
    let altitude = Int16(clamping: Int((feetHAE / 5).rounded()))
    let merit = sigmaMetres.map { clamped(2 * $0, 0...0x7FFE) } ?? 0x7FFF
    var bytes: [UInt8] = [11]
    bytes += big(UInt32(UInt16(bitPattern: altitude)), 2)
    bytes += big(merit, 2)
    return GDL90Message(bytes)
  }

  /// ForeFlight's extension with roll, pitch and heading, in tenths of degrees. The highest bit of a magnetic heading is
  /// set. An unknown heading is 0xFFFF.
  static func attitude(
    rollDegrees: Double, pitchDegrees: Double, headingDegrees: Double?, isMagnetic: Bool = false
  ) -> GDL90Message {
    func tenths(_ degrees: Double) -> UInt32 {
      UInt32(UInt16(bitPattern: Int16(clamping: Int((degrees * 10).rounded()))))
    }
    let heading = headingDegrees.map { tenths($0) & 0x7FFF | (isMagnetic ? 0x8000 : 0) } ?? 0xFFFF
    var bytes: [UInt8] = [0x65, 1]
    // The last two values are speeds, which are unknown.
    let values: [UInt32] = [tenths(rollDegrees), tenths(pitchDegrees), heading, 0xFFFF, 0xFFFF]
    for value in values { bytes += big(value, 2) }
    return GDL90Message(bytes)
  }

  /// NIC and NACp (section 3.5.1.7). NIC is unknown, because only a certified receiver can vouch for the integrity.
  private static func accuracy(_ radius: Double?) -> UInt8 {
    guard let radius else { return 0 }
    let limits = [3, 10, 30, 92.6, 185.2, 555.6, 926, 1852, 3704, 7408, 18_520]
    let index = limits.firstIndex { radius < $0 } ?? limits.count
    return UInt8(11 - index)
  }

  private static func clamped(_ value: Double, _ range: ClosedRange<Double>) -> UInt32 {
    UInt32(min(max(value, range.lowerBound), range.upperBound).rounded())
  }

  /// The lowest `count` bytes of a number, the most significant first.
  private static func big(_ value: UInt32, _ count: Int) -> [UInt8] {
    (0..<count).reversed().map { UInt8(truncatingIfNeeded: value >> UInt32(8 * $0)) }
  }
}

/// The fused state as messages of GDL 90.
enum GDL90Report {
  private static let feet = 1 / 0.3048
  private static let degrees = 180 / Double.pi

  /// A heartbeat; if the position is known, an ownship report, and if the height is known, a geometric altitude. They
  /// are sent once a second.
  static func position(of state: FusedState) -> [GDL90Message] {
    let second = state.position.flatMap { state.utc(at: $0.at) }.map {
      Int($0.nanosecondsSince1970 / 1_000_000_000 % 86_400)
    }
    let heartbeat = GDL90Message.heartbeat(hasPosition: state.position != nil, second: second)
    guard let position = state.position?.value else { return [heartbeat] }
    var own = GDL90Message.Ownship()
    own.latitudeDegrees = position.latitudeDegrees
    own.longitudeDegrees = position.longitudeDegrees
    own.radiusMetres = position.horizontalSigmaMetres.map { $0 * Confidence.radial }
    own.pressureAltitudeFeet = (state.air?.value.pressurePascals).map { pressureAltitudeFeet($0) }
    if let motion = state.motion?.value {
      own.knots = motion.speedMetresPerSecond * 3600 / 1852
      own.trackDegrees = motion.trackDegrees
      own.feetPerMinute = motion.climbMetresPerSecond.map { $0 * feet * 60 }
    }
    var messages = [heartbeat, .ownship(own)]
    if let height = position.altitudeHAEMetres {
      messages.append(.geometricAltitude(feetHAE: height * feet, sigmaMetres: position.verticalSigmaMetres))
    }
    return messages
  }

  /// Roll, pitch and heading. They are sent with each state, at most five times a second.
  static func attitude(of state: FusedState) -> GDL90Message? {
    guard let attitude = state.attitude?.value else { return nil }
    let heading = attitude.headingSigmaRadians == nil ? nil : attitude.quaternion.yaw * degrees
    return .attitude(
      rollDegrees: attitude.quaternion.roll * degrees, pitchDegrees: attitude.quaternion.pitch * degrees,
      headingDegrees: heading.map { $0 < 0 ? $0 + 360 : $0 }, isMagnetic: attitude.north == .magnetic)
  }

  /// The altitude in the standard atmosphere (ICAO 7488), below 11 km.
  static func pressureAltitudeFeet(_ pascals: Double) -> Double {
    (1 - pow(pascals / 101_325, 0.190_263)) * 44_330.8 * feet
  }
}
