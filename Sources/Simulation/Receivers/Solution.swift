import Glibc
import MonotonicTime
import NMEA

/// The time, position and velocity that a receiver computes for one epoch.
struct Solution: Sendable {
  var utc: UTCTime
  /// Whether the time is known. Without a fix, the receiver may know it from its running clock.
  var hasTime: Bool
  var hasFix: Bool
  var latitudeDegrees: Double
  var longitudeDegrees: Double
  var altitudeHAEMetres: Double
  /// The height of mean sea level above the ellipsoid.
  var separationMetres: Double
  /// The velocity: north, east, down.
  var velocityMetresPerSecond: SIMD3<Double>
  /// The horizontal standard deviation.
  var sigmaMetres: Double
  var satellites: [SimulatedSatellite]
  /// The time since the receiver booted.
  var runTime: Duration
  var correction = Correction.none
  /// The time since the last correction, if corrections arrive.
  var correctionAge = Duration.zero

  /// The effect of a base station's corrections on the solution.
  enum Correction: UInt8, Sendable {
    case none = 0
    /// Ambiguities are estimated but not yet fixed to integers.
    case float = 1
    case fixed = 2

    /// The share of the errors that remains.
    var share: Double {
      switch self {
      case .none: 1
      case .float: 0.2
      case .fixed: 0.02
      }
    }
  }

  static let verticalScale = 1.6
  static let speedSigma = 0.05
  static let hdop = 0.90
  static let vdop = 1.32
  static let pdop = 1.60
  static let tdop = 0.88

  var groundSpeed: Double {
    let velocity = velocityMetresPerSecond
    return (velocity.x * velocity.x + velocity.y * velocity.y).squareRoot()
  }

  /// The course over ground in degrees, from 0 up to 360.
  var trackDegrees: Double {
    let track = atan2(velocityMetresPerSecond.y, velocityMetresPerSecond.x) * 180 / .pi
    return track < 0 ? track + 360 : track
  }

  /// The offset of GPS time from UTC since 2017.
  static let leapSeconds: Int64 = 18
  private static let gpsEpoch: Int64 = 315_964_800_000_000_000
  private static let weekNanoseconds: Int64 = 604_800_000_000_000

  private var gpsNanoseconds: Int64 {
    utc.nanosecondsSince1970 + Solution.leapSeconds * 1_000_000_000 - Solution.gpsEpoch
  }

  var week: Int { Int(gpsNanoseconds / Solution.weekNanoseconds) }
  var timeOfWeekNanoseconds: Int64 { gpsNanoseconds % Solution.weekNanoseconds }
  var timeOfWeekMilliseconds: UInt32 { UInt32((timeOfWeekNanoseconds + 500_000) / 1_000_000) }

  /// Earth-centred, earth-fixed coordinates (WGS 84).
  var ecefMetres: SIMD3<Double> {
    let latitude = latitudeDegrees * .pi / 180
    let longitude = longitudeDegrees * .pi / 180
    let squared = 6.694_379_990_141e-3
    let radius = 6_378_137 / (1 - squared * sin(latitude) * sin(latitude)).squareRoot()
    let height = altitudeHAEMetres
    return SIMD3(
      (radius + height) * cos(latitude) * cos(longitude), (radius + height) * cos(latitude) * sin(longitude),
      (radius * (1 - squared) + height) * sin(latitude))
  }

  var ecefMetresPerSecond: SIMD3<Double> {
    let latitude = latitudeDegrees * .pi / 180
    let longitude = longitudeDegrees * .pi / 180
    let north = SIMD3(-sin(latitude) * cos(longitude), -sin(latitude) * sin(longitude), cos(latitude))
    let east = SIMD3(-sin(longitude), cos(longitude), 0)
    let down = SIMD3(-cos(latitude) * cos(longitude), -cos(latitude) * sin(longitude), -sin(latitude))
    let velocity = velocityMetresPerSecond
    return north * velocity.x + east * velocity.y + down * velocity.z
  }
}

extension Solution {
  /// Makes a solution from the true state of the vehicle plus an error (north, east, down, metres).
  init(
    _ truth: World.Truth, error: SIMD3<Double>, utc: UTCTime, hasTime: Bool, hasFix: Bool, sigmaMetres: Double,
    satellites: [SimulatedSatellite], runTime: Duration
  ) {
    let metresPerDegree = 111_319.49
    let latitude = truth.latitudeDegrees + error.x / metresPerDegree
    let longitude = truth.longitudeDegrees + error.y / (metresPerDegree * cos(latitude * .pi / 180))
    self.init(
      utc: utc, hasTime: hasTime, hasFix: hasFix, latitudeDegrees: latitude, longitudeDegrees: longitude,
      altitudeHAEMetres: truth.altitudeHAEMetres - error.z,
      separationMetres: EarthModel.geoidSeparationMetres(
        at: Coordinate(latitudeDegrees: latitude, longitudeDegrees: longitude)),
      velocityMetresPerSecond: truth.velocityMetresPerSecond, sigmaMetres: sigmaMetres, satellites: satellites,
      runTime: runTime)
  }
}

/// The NMEA sentences for a solution.
struct SolutionSentences: Sendable {
  enum Kind: CaseIterable, Sendable {
    case gga, gll, gsa, gsv, rmc, vtg, gst, zda
  }

  let solution: Solution
  /// Whether to use NMEA 4.10 and later, which identify systems and signals.
  let isModern: Bool

  /// - Parameter isModern: `false` for NMEA 2.3
  init(_ solution: Solution, isModern: Bool) {
    self.solution = solution
    self.isModern = isModern
  }

  func callAsFunction(_ kinds: [Kind]) -> [UInt8] { Array(kinds.map(sentence).joined().utf8) }

  private var systems: [SatelliteSystem] {
    let present = Set(solution.satellites.map(\.system))
    let order: [SatelliteSystem] = [.gps, .glonass, .galileo, .beidou]
    return order.filter { present.contains($0) }
  }

  private var talker: String { systems.count == 1 && !isModern ? systems[0].talker : "GN" }
  private var time: String { solution.hasTime ? SentenceField.time(solution.utc) : "" }
  private var date: String { solution.hasTime ? SentenceField.date(solution.utc) : "" }
  private var position: String {
    solution.hasFix ? SentenceField.coordinate(solution.latitudeDegrees, solution.longitudeDegrees) : ",,,"
  }
  private var course: String { solution.groundSpeed > 0.2 ? SentenceField.fixed(solution.trackDegrees, 2) : "" }
  private var knots: String { SentenceField.fixed(solution.groundSpeed * 3600 / 1852, 3) }
  private var mode: String {
    guard solution.hasFix else { return "N" }
    return switch solution.correction {
    // The letter S marks the position as simulated.
    case .none: "S"
    case .float: "F"
    case .fixed: "R"
    }
  }

  private func sentence(_ kind: Kind) -> String {
    switch kind {
    case .gga: gga
    case .gll: SentenceWriter.make("\(talker)GLL,\(position),\(time),\(solution.hasFix ? "A" : "V"),\(mode)")
    case .gsa: gsa
    case .gsv: systems.map(gsv).joined()
    case .rmc: rmc
    case .vtg: vtg
    case .gst: gst
    case .zda: zda
    }
  }

  private var rmc: String {
    let motion = solution.hasFix ? "A,\(position),\(knots),\(course)" : "V,,,,,,"
    return SentenceWriter.make("\(talker)RMC,\(time),\(motion),\(date),,,\(mode)\(isModern ? ",V" : "")")
  }

  private var vtg: String {
    guard solution.hasFix else { return SentenceWriter.make("\(talker)VTG,,,,,,,,,N") }
    let speed = SentenceField.fixed(solution.groundSpeed * 3.6, 3)
    return SentenceWriter.make("\(talker)VTG,\(course),T,,M,\(knots),N,\(speed),K,\(mode)")
  }

  private var gga: String {
    guard solution.hasFix else { return SentenceWriter.make("\(talker)GGA,\(time),,,,,0,00,99.99,,,,,,") }
    let separation = solution.separationMetres
    let altitude = SentenceField.fixed(solution.altitudeHAEMetres - separation, 1)
    let count = SentenceField.padded(min(solution.satellites.count, 12), 2)
    let quality = [8, 5, 4][Int(solution.correction.rawValue)]
    let age = solution.correction == .none ? "," : "\(SentenceField.fixed(solution.correctionAge.inSeconds, 1)),0041"
    return SentenceWriter.make(
      "\(talker)GGA,\(time),\(position),\(quality),\(count),0.90,\(altitude),M,\(SentenceField.fixed(separation, 1)),M,\(age)"
    )
  }

  private var gsa: String {
    guard solution.hasFix else {
      return SentenceWriter.make("\(talker)GSA,A,1,,,,,,,,,,,,,99.99,99.99,99.99\(isModern ? ",1" : "")")
    }
    return systems.map { system in
      let used = solution.satellites.filter { $0.system == system }.prefix(12).map {
        SentenceField.padded($0.nmeaNumber, 2)
      }
      let places = (used + [String](repeating: "", count: 12 - used.count)).joined(separator: ",")
      let identifier = isModern ? ",\(system.nmeaIdentifier)" : ""
      return SentenceWriter.make("\(talker)GSA,A,3,\(places),1.60,0.90,1.32\(identifier)")
    }.joined()
  }

  private func gsv(_ system: SatelliteSystem) -> String {
    let seen = solution.satellites.filter { $0.system == system }
    let count = (seen.count + 3) / 4
    return (0..<count).map { page in
      let four = seen[(page * 4)..<min(page * 4 + 4, seen.count)].map { satellite in
        ",\(SentenceField.padded(satellite.nmeaNumber, 2)),\(SentenceField.padded(satellite.elevationDegrees, 2)),"
          + "\(SentenceField.padded(satellite.azimuthDegrees, 3)),\(satellite.carrierToNoise)"
      }.joined()
      let head = "\(system.talker)GSV,\(count),\(page + 1),\(SentenceField.padded(seen.count, 2))"
      return SentenceWriter.make("\(head)\(four)\(isModern ? ",1" : "")")
    }.joined()
  }

  private var gst: String {
    guard solution.hasFix else { return SentenceWriter.make("\(talker)GST,\(time),,,,,,,") }
    let sigma = SentenceField.fixed(solution.sigmaMetres, 1)
    let vertical = SentenceField.fixed(solution.sigmaMetres * Solution.verticalScale, 1)
    return SentenceWriter.make("\(talker)GST,\(time),6.0,,,,\(sigma),\(sigma),\(vertical)")
  }

  private var zda: String {
    guard solution.hasTime else { return SentenceWriter.make("\(talker)ZDA,,,,,,") }
    let day = solution.utc.components.date
    let date = "\(SentenceField.padded(Int(day.day), 2)),\(SentenceField.padded(Int(day.month), 2)),\(day.year)"
    return SentenceWriter.make("\(talker)ZDA,\(time),\(date),00,00")
  }
}
