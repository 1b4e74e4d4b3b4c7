import Glibc
import MonotonicTime

/// A value with the instant of its measurement and its source, so that no value is without its age.
public struct Dated<Value: Sendable>: Sendable {
  public var value: Value
  public var at: MonotonicInstant
  /// The devices that contribute to the value.
  public var source: DeviceSet

  public init(_ value: Value, at: MonotonicInstant, source: DeviceSet) {
    self.value = value
    self.at = at
    self.source = source
  }

  /// The same value, with its source in the numbering of other device names.
  ///
  /// - Parameter before: the names that `source` refers to
  public func named(in names: DeviceNames, from before: DeviceNames) -> Dated {
    Dated(value, at: at, source: before.set(source, in: names))
  }
}

/// Everything that is known at one instant: the board's position, motion and attitude, its rates and acceleration, the
/// magnetic field, the air, the supply, and the quality of the fix.
///
/// Each part has the instant of its own measurement, which may be earlier than that of the state. A part is `nil` while
/// it is unknown.
public struct FusedState: Sendable {
  public enum Mode: String, Equatable, Sendable {
    case none
    /// Only the attitude is known.
    case attitude
    /// The receiver's own position and velocity. An attitude, if any, is independent of them.
    case gnss
    /// A common solution of the receiver and the IMU.
    case fused
    /// The common solution, continued by the IMU without fixes.
    case deadReckoning
    /// No client subscribes, so the devices are off. The position is the last known one.
    case asleep
  }

  public struct Position: Equatable, Sendable {
    /// The latitude in WGS 84, -90 to 90; the longitude is from -180 to 180.
    public var latitudeDegrees: Double
    public var longitudeDegrees: Double
    /// The height above the ellipsoid.
    public var altitudeHAEMetres: Double?
    /// The height above mean sea level.
    public var altitudeMSLMetres: Double?
    /// The standard deviation along one axis (the root mean square of north and east), from the receiver's own estimate
    /// if it gives one. See `Confidence` for bounds.
    public var horizontalSigmaMetres: Double?
    public var verticalSigmaMetres: Double?

    public init(
      latitudeDegrees: Double, longitudeDegrees: Double, altitudeHAEMetres: Double?, altitudeMSLMetres: Double?,
      horizontalSigmaMetres: Double?, verticalSigmaMetres: Double?
    ) {
      self.latitudeDegrees = latitudeDegrees
      self.longitudeDegrees = longitudeDegrees
      self.altitudeHAEMetres = altitudeHAEMetres
      self.altitudeMSLMetres = altitudeMSLMetres
      self.horizontalSigmaMetres = horizontalSigmaMetres
      self.verticalSigmaMetres = verticalSigmaMetres
    }
  }

  public struct Motion: Equatable, Sendable {
    public var speedMetresPerSecond: Double
    /// The course over ground, degrees from true north; `nil` at rest, or if the course is unknown.
    public var trackDegrees: Double?
    public var climbMetresPerSecond: Double?
    /// The standard deviation of the velocity along one horizontal axis (the root mean square of north and east). It
    /// applies to the speed, and to the velocity across the track. See `Confidence` for bounds.
    public var horizontalSigmaMetresPerSecond: Double?
    public var verticalSigmaMetresPerSecond: Double?

    public init(
      speedMetresPerSecond: Double, trackDegrees: Double?, climbMetresPerSecond: Double?,
      horizontalSigmaMetresPerSecond: Double? = nil, verticalSigmaMetresPerSecond: Double? = nil
    ) {
      self.speedMetresPerSecond = speedMetresPerSecond
      self.trackDegrees = trackDegrees
      self.climbMetresPerSecond = climbMetresPerSecond
      self.horizontalSigmaMetresPerSecond = horizontalSigmaMetresPerSecond
      self.verticalSigmaMetresPerSecond = verticalSigmaMetresPerSecond
    }

    /// The velocity north, east, down in m/s; `nil` if the board moves and its course is unknown. An unknown climb
    /// counts as zero.
    public var velocity: SIMD3<Double>? {
      guard let trackDegrees else { return speedMetresPerSecond == 0 ? .zero : nil }
      let track = trackDegrees * .pi / 180
      return SIMD3(
        speedMetresPerSecond * cos(track), speedMetresPerSecond * sin(track), -(climbMetresPerSecond ?? 0))
    }
  }

  public struct Attitude: Equatable, Sendable {
    /// The direction that the heading counts from.
    public enum North: Equatable, Sendable {
      /// True north. The declination is the angle from true to magnetic north, positive to the east, in radians;
      /// `nil` if it is unknown.
      case geographic(declinationRadians: Double?)
      /// Magnetic north: the heading is that of the magnetometer, and the declination is unknown because no position
      /// has been known yet.
      case magnetic
    }

    /// The rotation from body axes to north, east, down.
    public var quaternion: Quaternion
    public var inclinationSigmaRadians: Double
    /// The sigma of the heading; `nil` while the heading is unknown, so that the quaternion's yaw is meaningless.
    public var headingSigmaRadians: Double?
    public var north: North

    public init(
      quaternion: Quaternion, inclinationSigmaRadians: Double, headingSigmaRadians: Double?,
      north: North = .geographic(declinationRadians: nil)
    ) {
      self.quaternion = quaternion
      self.inclinationSigmaRadians = inclinationSigmaRadians
      self.headingSigmaRadians = headingSigmaRadians
      self.north = north
    }
  }

  public struct FixQuality: Equatable, Sendable {
    /// The mode: 0 unknown, 1 no fix, 2 two dimensions, 3 three.
    public var mode: Int
    /// The status in the gpsd protocol: 1 autonomous, 2 differential, 3 RTK fixed, 4 RTK float, …
    public var status: Int
    public var satellitesUsed: Int?
    public var hdop: Double?
    /// The receiver's time in nanoseconds since 1970; `nil` until it has a date.
    public var utcNanoseconds: Int64?
    /// Whether the receiver has confirmed the date. Otherwise the date may be remembered or guessed.
    public var isTimeConfirmed = false
    /// The standard deviation of the time, as the receiver states it, in seconds.
    public var timeSigmaSeconds: Double?
    /// The age of the corrections, seconds, if the receiver states it.
    public var correctionAgeSeconds: Double?
    public var reception = Reception()
    /// The state of the receiver's own fusion; `nil` if it has none.
    public var receiverFusion: ReceiverFusion?

    public init(mode: Int, status: Int, satellitesUsed: Int?, hdop: Double?, utcNanoseconds: Int64?) {
      self.mode = mode
      self.status = status
      self.satellitesUsed = satellitesUsed
      self.hdop = hdop
      self.utcNanoseconds = utcNanoseconds
    }
  }

  /// Fixes that are refused, because the inertial sensors contradict them.
  public struct Refusal: Equatable, Sendable {
    public var since: MonotonicInstant
    /// The distance of the fixes from the solution.
    public var metres: Double

    public init(since: MonotonicInstant, metres: Double) {
      self.since = since
      self.metres = metres
    }
  }

  /// The comparison of dead reckoning with the fix that ended it.
  public struct ReckoningCheck: Equatable, Sendable {
    /// When the position of the fix was measured.
    public var at: MonotonicInstant
    /// The distance of the fix from the predicted position, as a multiple of the expected distance (root mean square).
    /// With correct sigmas, the mean of the squared ratio is 1.
    public var ratio: Double

    public init(at: MonotonicInstant, ratio: Double) {
      self.at = at
      self.ratio = ratio
    }
  }

  /// The measurements of a barometer, and of the sensors in its package.
  public struct Air: Equatable, Sendable {
    public var pressurePascals: Double
    /// The temperature of the chip, which is slightly warmer than the air.
    public var temperatureCelsius: Double
    /// The relative humidity, 0 to 100.
    public var humidityPercent: Double?

    public init(pressurePascals: Double, temperatureCelsius: Double, humidityPercent: Double?) {
      self.pressurePascals = pressurePascals
      self.temperatureCelsius = temperatureCelsius
      self.humidityPercent = humidityPercent
    }
  }

  /// The measurements of a supply monitor.
  public struct Supply: Equatable, Sendable {
    /// The voltage after the shunt, against ground.
    public var volts: Double
    /// The current; positive if it flows to the load.
    public var amperes: Double

    public var watts: Double { volts * amperes }

    public init(volts: Double, amperes: Double) {
      self.volts = volts
      self.amperes = amperes
    }
  }

  /// The devices that the parts' sources refer to.
  public var devices: DeviceNames
  /// The instant of the state.
  public var at: MonotonicInstant
  public var mode = Mode.none
  /// The instant of the last accepted fix; `nil` unless the mode is `deadReckoning`.
  public var deadReckoningSince: MonotonicInstant?
  /// The refused fixes; `nil` while the receiver's fixes are accepted.
  public var refusal: Refusal?
  /// The horizontal distance of the latest fix from the solution, if it is further away than their sigmas explain;
  /// `nil` if they agree. While it is not `nil`, the stated sigma of the position is too small.
  public var disagreementMetres: Double?
  /// How well dead reckoning predicted the fix that ended it last; `nil` if it has not been needed yet.
  public var reckoningCheck: ReckoningCheck?
  /// When the last subscriber left; `nil` unless the mode is `asleep`.
  public var asleepSince: MonotonicInstant?
  public var position: Dated<Position>?
  public var motion: Dated<Motion>?
  public var attitude: Dated<Attitude>?
  /// The angular rate in body axes, rad/s.
  public var rates: Dated<SIMD3<Double>>?
  /// The specific force in body axes, m/s².
  public var acceleration: Dated<SIMD3<Double>>?
  /// The earth's magnetic flux density in body axes, microtesla.
  public var magneticField: Dated<SIMD3<Double>>?
  public var air: Dated<Air>?
  public var supply: Dated<Supply>?
  public var fix: Dated<FixQuality>?

  public init(at: MonotonicInstant, devices: DeviceNames = .usual) {
    self.at = at
    self.devices = devices
  }

  /// The state after the last subscriber has left: asleep, with only the last known position.
  ///
  /// - Parameter lastKnown: the last position before this state, however old; it is used if this state has none
  public func asleep(since: MonotonicInstant, lastKnown: Dated<Position>?) -> FusedState {
    var state = FusedState(at: since, devices: devices)
    state.mode = .asleep
    state.asleepSince = since
    state.position = position ?? lastKnown
    return state
  }

  public func age<Value>(of part: Dated<Value>?) -> Duration? { part.map { at - $0.at } }
}

/// Converts standard deviations to 95 % error bounds, the form of gpsd's error estimates.
///
/// The horizontal sigma of `FusedState` applies to one axis (the root mean square of north and east). It is not a
/// radial sigma.
public enum Confidence {
  /// The factor along one axis: the 97.5 % quantile of the normal distribution.
  public static let axis = 1.959_964
  /// The factor in the plane, with equal sigmas along both axes: the 95 % quantile of the Rayleigh distribution.
  public static let radial = 2.447_747

  /// The bound of a speed over ground, along the track. A board that is hardly faster than the error may be at rest,
  /// and then the whole error appears as speed.
  public static func speed(_ speed: Double, sigma: Double) -> Double {
    sigma * (speed < radial * sigma ? radial : axis)
  }

  /// The 95 % bound of the distance in space.
  ///
  /// The squared error is a weighted sum of chi-squares. A gamma distribution with the same mean and variance
  /// (Satterthwaite) approximates it, and the cube root approximation of Wilson and Hilferty gives the quantile. The
  /// result is within two percent for any two sigmas.
  public static func spherical(horizontal: Double, vertical: Double) -> Double {
    let (h, v) = (horizontal * horizontal, vertical * vertical)
    let mean = 2 * h + v
    guard mean > 0 else { return 0 }
    // The variance of the cube root is one ninth of the relative variance, 2 (2 h² + v²) / mean².
    let spread = 2 * (2 * h * h + v * v) / (mean * mean) / 9
    let root = 1 - spread + 1.644_854 * spread.squareRoot()
    return (mean * root * root * root).squareRoot()
  }
}
