import Glibc
import MonotonicTime

/// A value with the instant it was measured at and what measured it: no value without its age.
public struct Dated<Value: Sendable>: Sendable {
  public var value: Value
  public var at: MonotonicInstant
  /// All that have a share in it.
  public var source: DeviceSet

  public init(_ value: Value, at: MonotonicInstant, source: DeviceSet) {
    self.value = value
    self.at = at
    self.source = source
  }
}

/// Everything that is known about where the board is, how it moves and how it lies, as of one instant.
///
/// Each part is dated for itself and is absent while it is not known; a stale part keeps the age it has.
public struct FusedState: Sendable {
  public enum Mode: String, Equatable, Sendable {
    case none
    /// Attitude alone.
    case attitude
    /// The receiver's own position and velocity; the attitude beside it, if any, has nothing to do with them.
    case gnss
    /// One solution from both.
    case fused
    /// That solution carried on by the IMU, without fixes.
    case deadReckoning
    /// Nobody listens, so the devices are off; the position is the last one known.
    case asleep
  }

  public struct Position: Equatable, Sendable {
    /// WGS 84, -90 to 90 and -180 to 180.
    public var latitudeDegrees: Double
    public var longitudeDegrees: Double
    /// Above the ellipsoid.
    public var altitudeHAEMetres: Double?
    /// Above mean sea level.
    public var altitudeMSLMetres: Double?
    /// One standard deviation along one axis (the root mean square of north's and east's), by the receiver's own estimate
    /// where it gives one. See `Confidence` for bounds.
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
    /// Course over ground, degrees from true north; `nil` at rest.
    public var trackDegrees: Double?
    public var climbMetresPerSecond: Double?
    /// One standard deviation of the velocity along one horizontal axis (the root mean square of north's and east's), so
    /// also that of the speed, and of what is across the track. See `Confidence` for bounds.
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

    /// North, east, down.
    public var velocity: SIMD3<Double>? {
      guard let trackDegrees else { return speedMetresPerSecond == 0 ? .zero : nil }
      let track = trackDegrees * .pi / 180
      return SIMD3(
        speedMetresPerSecond * cos(track), speedMetresPerSecond * sin(track), -(climbMetresPerSecond ?? 0))
    }
  }

  public struct Attitude: Equatable, Sendable {
    /// Body to north, east, down.
    public var quaternion: Quaternion
    public var inclinationSigmaRadians: Double
    /// `nil` while the heading is unknown: then the quaternion's yaw means nothing.
    public var headingSigmaRadians: Double?

    public init(quaternion: Quaternion, inclinationSigmaRadians: Double, headingSigmaRadians: Double?) {
      self.quaternion = quaternion
      self.inclinationSigmaRadians = inclinationSigmaRadians
      self.headingSigmaRadians = headingSigmaRadians
    }
  }

  public struct FixQuality: Equatable, Sendable {
    /// 0 unknown, 1 no fix, 2 two dimensions, 3 three.
    public var mode: Int
    /// As in the gpsd protocol: 1 autonomous, 2 differential, 3 RTK fixed, 4 RTK float, …
    public var status: Int
    public var satellitesUsed: Int?
    public var hdop: Double?
    /// Nanoseconds since 1970, by the receiver; it has no time before it has a date.
    public var utcNanoseconds: Int64?
    /// The receiver has shown that it knows the date, rather than remembers or guesses it.
    public var isTimeConfirmed = false
    /// One standard deviation of the time, by the receiver, seconds.
    public var timeSigmaSeconds: Double?
    /// How old the corrections are that it is made with, seconds, as far as the receiver says.
    public var correctionAgeSeconds: Double?
    public var reception = Reception()
    /// `nil` of a receiver that says nothing of inertial sensors of its own.
    public var receiverFusion: ReceiverFusion?

    public init(mode: Int, status: Int, satellitesUsed: Int?, hdop: Double?, utcNanoseconds: Int64?) {
      self.mode = mode
      self.status = status
      self.satellitesUsed = satellitesUsed
      self.hdop = hdop
      self.utcNanoseconds = utcNanoseconds
    }
  }

  /// Fixes that are not believed, as the inertial sensors contradict them.
  public struct Refusal: Equatable, Sendable {
    public var since: MonotonicInstant
    /// How far off they are.
    public var metres: Double

    public init(since: MonotonicInstant, metres: Double) {
      self.since = since
      self.metres = metres
    }
  }

  /// What a barometer and what is beside it tell of the air.
  public struct Air: Equatable, Sendable {
    public var pressurePascals: Double
    /// Of the chip, which is a little warmer.
    public var temperatureCelsius: Double
    /// Relative, 0 to 100.
    public var humidityPercent: Double?

    public init(pressurePascals: Double, temperatureCelsius: Double, humidityPercent: Double?) {
      self.pressurePascals = pressurePascals
      self.temperatureCelsius = temperatureCelsius
      self.humidityPercent = humidityPercent
    }
  }

  /// What a supply monitor measures.
  public struct Supply: Equatable, Sendable {
    /// Behind the shunt, against ground.
    public var volts: Double
    /// Positive where it flows to the load.
    public var amperes: Double

    public var watts: Double { volts * amperes }

    public init(volts: Double, amperes: Double) {
      self.volts = volts
      self.amperes = amperes
    }
  }

  /// Whom the parts' sources mean.
  public var devices: DeviceNames
  /// When the state was put together.
  public var at: MonotonicInstant
  public var mode = Mode.none
  /// When the last fix came that was taken; `nil` unless dead reckoning.
  public var deadReckoningSince: MonotonicInstant?
  /// `nil` while the receiver's fixes are believed.
  public var refusal: Refusal?
  /// When the last subscriber left; `nil` unless asleep.
  public var asleepSince: MonotonicInstant?
  public var position: Dated<Position>?
  public var motion: Dated<Motion>?
  public var attitude: Dated<Attitude>?
  /// Angular rate in body axes, rad/s.
  public var rates: Dated<SIMD3<Double>>?
  /// Specific force in body axes, m/s².
  public var acceleration: Dated<SIMD3<Double>>?
  /// Magnetic flux density in body axes, as far as it is the earth's, microtesla.
  public var magneticField: Dated<SIMD3<Double>>?
  public var air: Dated<Air>?
  public var supply: Dated<Supply>?
  public var fix: Dated<FixQuality>?

  public init(at: MonotonicInstant, devices: DeviceNames = .usual) {
    self.at = at
    self.devices = devices
  }

  /// What is left of it once nobody listens.
  ///
  /// - Parameter lastKnown: the position of an earlier state, where this one has none
  public func asleep(since: MonotonicInstant, lastKnown: Dated<Position>?) -> FusedState {
    var state = FusedState(at: since, devices: devices)
    state.mode = .asleep
    state.asleepSince = since
    state.position = position ?? lastKnown
    return state
  }

  public func age<Value>(of part: Dated<Value>?) -> Duration? { part.map { at - $0.at } }
}
