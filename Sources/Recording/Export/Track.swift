import Fusion
import NMEA

/// A point of a track: where the board was at a time, and how accurately this is known.
public struct TrackPoint: Equatable, Sendable {
  /// The time at which the board was at this point.
  public var time: UTCTime
  /// The latitude in WGS 84, from -90 to 90. The longitude is from -180 to 180.
  public var latitudeDegrees: Double
  public var longitudeDegrees: Double
  /// The height above mean sea level.
  public var altitudeMSLMetres: Double?
  /// The height above the ellipsoid.
  public var altitudeHAEMetres: Double?
  /// The standard deviation along one horizontal axis.
  public var horizontalSigmaMetres: Double?
  /// Whether the position is dead-reckoned.
  public var isReckoned = false
  /// The dimensions of the fix, 2 or 3; `nil` without a fix.
  public var fixMode: Int?
  /// The status in the gpsd protocol, for example 1 autonomous, 2 differential, 3 RTK fixed, 4 RTK float.
  public var fixStatus: Int?
  public var satellitesUsed: Int?
  public var hdop: Double?

  public init(time: UTCTime, latitudeDegrees: Double, longitudeDegrees: Double) {
    self.time = time
    self.latitudeDegrees = latitudeDegrees
    self.longitudeDegrees = longitudeDegrees
  }
}

/// Decides where a track is interrupted. Between two points that are far apart in time the path is unknown, so no line
/// should be drawn.
public struct TrackSplitter: Sendable {
  /// The longest time between two positions of a continuous track.
  public static let longestPauseNanoseconds: Int64 = 10_000_000_000
  /// The same limit after a receiver was switched off or the hub was asleep. It is shorter than the usual one, because
  /// another receiver may continue the track.
  static let longestPauseAtRestNanoseconds: Int64 = 2_000_000_000

  /// The expected interval between two points.
  private let intervalNanoseconds: Int64
  private var last: UTCTime?
  private var hasRested = false

  /// - Parameter everySeconds: the interval at which points were taken from the recording; 0 if all were taken
  public init(everySeconds: Double = 0) { intervalNanoseconds = Int64(everySeconds * 1e9) }

  /// Records that, since the last point, a receiver had no power or the hub was asleep.
  public mutating func noteRest() { hasRested = true }

  /// Examines the next point's time.
  ///
  /// - Returns: whether a new part of the track begins there
  public mutating func beginsSegment(at time: UTCTime) -> Bool {
    defer {
      last = time
      hasRested = false
    }
    guard let last else { return true }
    let (pause, overflows) = time.nanosecondsSince1970.subtractingReportingOverflow(last.nanosecondsSince1970)
    // If the time goes back, the point belongs to another recording.
    guard !overflows, pause >= 0 else { return true }
    let longest = hasRested ? Self.longestPauseAtRestNanoseconds : Self.longestPauseNanoseconds
    return pause > longest + intervalNanoseconds
  }
}

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

/// Removes points of a track that are near the line between the remaining ones (Ramer, 1972; Douglas and Peucker,
/// 1973).
public enum TrackSimplification {
  /// The number of points in a piece. In the worst case, a track of nothing but noise, the time of this method grows
  /// with the square of the number of points. Long tracks are therefore divided into pieces, whose ends remain.
  private static let pieceCount = 8192

  /// The remaining points. A removed point is within the tolerance of the line between the two remaining points around
  /// it. Distances are measured in the plane that touches the earth at the first of the two points; heights do not
  /// count.
  public static func simplified(_ points: [TrackPoint], toleranceMetres: Double) -> [TrackPoint] {
    guard points.count > 2 else { return points }
    var stays = [Bool](repeating: false, count: points.count)
    // The ranges that remain to be examined. A list instead of recursion, because the track of a day has a million
    // points.
    var open: [(first: Int, last: Int)] = []
    var first = 0
    while first < points.count - 1 {
      let last = min(first + pieceCount, points.count - 1)
      open.append((first, last))
      stays[first] = true
      stays[last] = true
      first = last
    }
    while let (first, last) = open.popLast() {
      guard let far = farthest(points, first, last), far.metres > toleranceMetres else { continue }
      stays[far.index] = true
      open.append((first, far.index))
      open.append((far.index, last))
    }
    return zip(points, stays).lazy.filter(\.1).map(\.0)
  }

  /// The point between two others that is farthest from their line.
  private static func farthest(_ points: [TrackPoint], _ first: Int, _ last: Int) -> (index: Int, metres: Double)? {
    guard last - first > 1 else { return nil }
    let origin = position(points[first])
    let end = position(points[last]).offset(from: origin)
    let lengthSquared = end.x * end.x + end.y * end.y
    var found = (index: first + 1, squared: -1.0)
    for index in first + 1..<last {
      let point = position(points[index]).offset(from: origin)
      // The distance is to the segment, not to the infinite line, because tracks may turn back.
      let along = lengthSquared > 0 ? max(0, min(1, (point.x * end.x + point.y * end.y) / lengthSquared)) : 0
      let north = point.x - along * end.x
      let east = point.y - along * end.y
      let squared = north * north + east * east
      if squared > found.squared { found = (index, squared) }
    }
    return (found.index, found.squared.squareRoot())
  }

  private static func position(_ point: TrackPoint) -> GeodeticPosition {
    GeodeticPosition(latitudeDegrees: point.latitudeDegrees, longitudeDegrees: point.longitudeDegrees, altitude: 0)
  }
}
