import Fusion

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
