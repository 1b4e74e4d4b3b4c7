import Fusion
import MonotonicTime
import NMEA

/// A fix as a fence needs it.
public struct FenceFix: Equatable, Sendable {
  public var place: Coordinate
  /// One standard deviation along one axis.
  public var sigmaMetres: Double
  public var speedMetresPerSecond: Double?
  /// When it was valid.
  public var at: MonotonicInstant
  /// The same by the receiver's time, nanoseconds since 1970.
  public var utcNanoseconds: Int64?
  /// Nothing has moved since.
  public var isStill: Bool

  public init(
    place: Coordinate, sigmaMetres: Double, speedMetresPerSecond: Double? = nil, at: MonotonicInstant,
    utcNanoseconds: Int64? = nil, isStill: Bool = false
  ) {
    self.place = place
    self.sigmaMetres = sigmaMetres
    self.speedMetresPerSecond = speedMetresPerSecond
    self.at = at
    self.utcNanoseconds = utcNanoseconds
    self.isStill = isStill
  }

  /// Of one whose accuracy is known. One that is given again is as old as it is.
  init?(_ fix: ScheduledFix) {
    let state = fix.state
    guard let at = fix.isStill ? state.fix?.at : state.fixInstant, let position = state.position?.value,
      let sigma = position.horizontalSigmaMetres, sigma.isFinite
    else { return nil }
    self.init(
      place: Coordinate(latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees),
      sigmaMetres: sigma, speedMetresPerSecond: state.motion?.value.speedMetresPerSecond, at: at,
      utcNanoseconds: state.fix?.value.utcNanoseconds, isStill: fix.isStill)
  }
}

/// The board's side of a fence, if it is known.
public struct FenceStatus: Equatable, Sendable {
  public enum State: String, Sendable {
    case unknown
    case inside
    case outside
  }

  public enum Event: String, Sendable {
    case enter
    case leave
    /// On which side it is is known, at first or again, and is no other than it was.
    case found
    /// No fix that says anything has come in time.
    case lost
  }

  public var name: String
  public var state = State.unknown
  public var since: MonotonicInstant
  /// The cause; `nil` before the first one.
  public var event: Event?
  /// The last that said anything.
  public var fix: FenceFix?
  /// How far that lies beyond the edge; negative within it.
  public var metresBeyond: Double?

  public init(name: String, since: MonotonicInstant) {
    self.name = name
    self.since = since
  }

  /// Nothing has happened between the two.
  public func isSameState(as other: FenceStatus) -> Bool { since == other.since && event == other.event }
}
