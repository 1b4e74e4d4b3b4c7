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
  /// The true state of the vehicle plus an error (north, east, down, metres).
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
