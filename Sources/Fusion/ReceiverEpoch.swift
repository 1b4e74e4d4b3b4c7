import MonotonicTime

/// The part of a receiver's epoch that is fused.
public struct ReceiverEpoch: Sendable {
  /// When the epoch's first byte was read.
  public var at: MonotonicInstant
  public var quality: FusedState.FixQuality
  /// The position; `nil` if the receiver has none.
  public var position: FusedState.Position?
  public var motion: FusedState.Motion?
  /// The heading that a receiver with two antennas states; `nil` if it states none.
  public var heading: StatedHeading?

  public init(
    at: MonotonicInstant, quality: FusedState.FixQuality, position: FusedState.Position?, motion: FusedState.Motion?,
    heading: StatedHeading? = nil
  ) {
    self.at = at
    self.quality = quality
    self.position = position
    self.motion = motion
    self.heading = heading
  }
}

/// A heading that a receiver with two antennas states.
public struct StatedHeading: Equatable, Sendable {
  /// The heading of the body from true north, clockwise.
  public var degrees: Double
  /// The standard deviation.
  public var sigmaDegrees: Double

  public init(degrees: Double, sigmaDegrees: Double) {
    self.degrees = degrees
    self.sigmaDegrees = sigmaDegrees
  }

  var radians: Double { degrees * .pi / 180 }
  var sigmaRadians: Double { sigmaDegrees * .pi / 180 }

  var isValid: Bool { degrees.isFinite && sigmaDegrees.isFinite && sigmaDegrees > 0 }
}

/// A receiver's report on interference with its reception.
public struct Reception: Equatable, Sendable {
  public enum Jamming: String, CaseIterable, Sendable {
    case unknown
    case none
    /// Interference is present, but there is a fix.
    case warning
    /// Interference is present and prevents a fix.
    case critical
  }

  public enum Spoofing: String, CaseIterable, Sendable {
    case unknown
    case none
    case indicated
    /// Several signs indicate spoofing.
    case multiple
  }

  public var jamming = Jamming.unknown
  public var spoofing = Spoofing.unknown
  /// Continuous-wave interference, from 0 for none to 255 for strong; gpsd's `jam`.
  public var jammingIndicator: UInt8?

  public init(jamming: Jamming = .unknown, spoofing: Spoofing = .unknown, jammingIndicator: UInt8? = nil) {
    self.jamming = jamming
    self.spoofing = spoofing
    self.jammingIndicator = jammingIndicator
  }

  /// Whether the receiver reports spoofing.
  public var isSpoofed: Bool { spoofing == .indicated || spoofing == .multiple }

  /// The sigma to use instead of the reported one. Receivers do not include the effect of jamming in their sigmas.
  /// With a larger value the fix is weighted less, and a receiver with undisturbed reception is preferred.
  public func doubted(_ sigma: Double) -> Double {
    let factor: Double =
      switch jamming {
      case .unknown, .none: 1
      case .warning: 2
      case .critical: 5
      }
    return factor * sigma
  }

  /// The sigma to use for a position in metres. A spoofed position may be anywhere.
  public func doubted(positionSigma sigma: Double) -> Double { isSpoofed ? max(100, doubted(sigma)) : doubted(sigma) }

  /// The sigma to use for a velocity in m/s.
  public func doubted(velocitySigma sigma: Double) -> Double { isSpoofed ? max(5, doubted(sigma)) : doubted(sigma) }
}

/// The state of the sensor fusion inside a receiver that has its own inertial sensors.
public enum ReceiverFusion: String, CaseIterable, Sendable {
  /// The receiver is determining its mounting and the quality of its sensors.
  case initializing
  /// The sensors contribute to the solution.
  case fusing
  /// Suspended, because the measurements of the sensors are inconsistent.
  case suspended
  /// Disabled until the receiver restarts.
  case disabled
}

/// The interval at which a receiver reports, and the number of epochs since it last had a position.
struct ReceiverRate: Sendable {
  /// The time from one epoch to the next in seconds; 0 before the second epoch.
  private(set) var interval = 0.0
  private(set) var epochsWithoutPosition = 0
  private var last: MonotonicInstant?

  mutating func take(_ at: MonotonicInstant, hasPosition: Bool) {
    epochsWithoutPosition = hasPosition ? 0 : epochsWithoutPosition + 1
    if let last, at > last {
      let step = at.seconds(since: last)
      // A single long pause at most doubles the interval.
      interval = interval == 0 ? step : min(step, interval * 2)
    }
    last = max(last ?? at, at)
  }
}
