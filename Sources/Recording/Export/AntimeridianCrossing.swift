import NMEA

/// The point where the line between two points of a track crosses 180 degrees of longitude. The track is cut there: one
/// line ends on this side, and another begins on the other side.
public struct AntimeridianCrossing: Equatable, Sendable {
  /// The crossing, with the longitude (180 or -180) of the side from which the track comes.
  public let end: TrackPoint
  /// The same place and time, with the longitude of the other side.
  public let start: TrackPoint

  /// `nil` if the shorter way between the points does not cross 180 degrees.
  public init?(from: TrackPoint, to: TrackPoint) {
    let turn = to.longitudeDegrees - from.longitudeDegrees
    guard abs(turn) > 180 else { return nil }
    let side: Double = turn < 0 ? 180 : -180
    let whole = turn < 0 ? turn + 360 : turn - 360
    // Both points may be at 180 degrees, one on each side.
    let share = whole == 0 ? 0 : (side - from.longitudeDegrees) / whole
    func between(_ one: Double, _ other: Double) -> Double { one + share * (other - one) }
    func between(_ one: Double?, _ other: Double?) -> Double? {
      guard let one, let other else { return nil }
      return between(one, other)
    }
    let pause = Double(to.time.nanosecondsSince1970 - from.time.nanosecondsSince1970)
    var point = TrackPoint(
      time: UTCTime(nanosecondsSince1970: from.time.nanosecondsSince1970 + Int64(share * pause)),
      latitudeDegrees: between(from.latitudeDegrees, to.latitudeDegrees), longitudeDegrees: side)
    point.altitudeMSLMetres = between(from.altitudeMSLMetres, to.altitudeMSLMetres)
    point.altitudeHAEMetres = between(from.altitudeHAEMetres, to.altitudeHAEMetres)
    point.horizontalSigmaMetres = between(from.horizontalSigmaMetres, to.horizontalSigmaMetres)
    point.isReckoned = from.isReckoned || to.isReckoned
    end = point
    point.longitudeDegrees = -side
    start = point
  }
}
