import Fusion
import MonotonicTime
import NMEA

/// The values of a fix that a fence needs.
public struct FenceFix: Equatable, Sendable {
  public var place: Coordinate
  /// The standard deviation along one axis.
  public var sigmaMetres: Double
  public var speedMetresPerSecond: Double?
  /// The time of the fix.
  public var at: MonotonicInstant
  /// The time of the fix by the receiver's clock, nanoseconds since 1970.
  public var utcNanoseconds: Int64?
  /// Whether the board has not moved since the fix.
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

  /// `nil` if the fix has no position of known accuracy. A repeated fix keeps its original time.
  init?(_ fix: RequestedFix) {
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

/// The board's side of a fence, if it is known, with the last event and the last useful fix.
public struct FenceStatus: Equatable, Sendable {
  public enum State: String, Sendable {
    case unknown
    case inside
    case outside
  }

  public enum Event: String, Sendable {
    case enter
    case leave
    /// The side is known, for the first time or again, and has not changed.
    case found
    /// No useful fix has come in time.
    case lost
  }

  public var name: String
  public var state = State.unknown
  public var since: MonotonicInstant
  /// The last event; `nil` before the first.
  public var event: Event?
  /// The last useful fix.
  public var fix: FenceFix?
  /// The distance of the last fix beyond the edge, metres; negative inside.
  public var metresBeyond: Double?

  public init(name: String, since: MonotonicInstant) {
    self.name = name
    self.since = since
  }

  /// Whether both have the same state, without an event in between.
  public func isSameState(as other: FenceStatus) -> Bool { since == other.since && event == other.event }
}

/// A fence as observers see it: its area, the side of the board, and the time of the next fix.
public struct FenceSnapshot: Equatable, Sendable {
  public var area: FenceArea
  public var status: FenceStatus
  /// The time by which the next useful fix should come. After this time the fix is late.
  public var dueAt: MonotonicInstant
  /// The time at which the side becomes unknown without a fix; `nil` once the loss has been reported.
  public var blindAt: MonotonicInstant?

  public init(area: FenceArea, status: FenceStatus, dueAt: MonotonicInstant, blindAt: MonotonicInstant?) {
    self.area = area
    self.status = status
    self.dueAt = dueAt
    self.blindAt = blindAt
  }
}
