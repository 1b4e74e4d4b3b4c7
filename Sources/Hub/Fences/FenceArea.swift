import Fusion
import NMEA

/// A part of the earth's surface with an edge: a circle, or a polygon whose edges do not cross. An area is small
/// compared with the earth and far from the poles, so the computations treat it as flat.
public struct FenceArea: Equatable, Sendable {
  public enum Shape: Equatable, Sendable {
    case circle(Coordinate, radiusMetres: Double)
    /// The corners in order; the first one is not repeated.
    case polygon([Coordinate])
  }

  /// Why an area is not valid. `expected` completes the sentence "… must be".
  public struct Refusal: Error, Equatable {
    public var expected: String
  }

  /// The permitted radii of a circle, metres.
  public static let radiusMetres = 1.0...100_000.0
  /// The permitted latitudes of centres and corners, degrees. Closer to a pole, an area is not flat enough.
  public static let latitudeDegrees = -85.0...85.0
  /// The permitted longitudes of centres and corners, degrees.
  public static let longitudeDegrees = -180.0...180.0
  /// The maximum distance of a corner from the first one.
  static let mostMetres = 100_000.0
  static let mostCorners = 256
  /// The distance from the first corner beyond which every place is outside.
  private static let farMetres = 2.5 * mostMetres
  /// The maximum number of distances to edges that the search for a circle computes.
  private static let mostDistances = 2_000_000

  public let shape: Shape
  public let squareMetres: Double

  /// - Throws: if the radius is out of its range, or the centre is near a pole
  public init(circleAbout centre: Coordinate, radiusMetres: Double) throws(Refusal) {
    guard FenceArea.isPlace(centre), FenceArea.radiusMetres.contains(radiusMetres) else {
      throw Refusal(
        expected: "[latitude, longitude, metres]: three numbers from \(FenceArea.latitudeDegrees.messageText), "
          + "\(FenceArea.longitudeDegrees.messageText) and \(FenceArea.radiusMetres.messageText)")
    }
    shape = .circle(centre, radiusMetres: radiusMetres)
    squareMetres = .pi * radiusMetres * radiusMetres
  }

  /// - Parameter corners: in either direction; the first corner may be repeated at the end, as in GeoJSON
  /// - Throws: if there are too few or too many corners, if they repeat or are too far apart, or if the polygon has no
  ///   inside
  public init(polygon corners: [Coordinate]) throws(Refusal) {
    var corners = corners
    if corners.count > 1, corners.first == corners.last { corners.removeLast() }
    guard (3...FenceArea.mostCorners).contains(corners.count) else {
      throw Refusal(expected: "a list of 3 to \(FenceArea.mostCorners) corners: [[latitude, longitude], …]")
    }
    guard corners.allSatisfy(FenceArea.isPlace) else {
      throw Refusal(
        expected: "a list of corners [latitude, longitude]: numbers from \(FenceArea.latitudeDegrees.messageText), "
          + "and \(FenceArea.longitudeDegrees.messageText)")
    }
    let points = corners.map { FenceArea.offset(of: $0, from: corners[0]) }
    guard points.allSatisfy({ FenceArea.length($0) <= FenceArea.mostMetres }) else {
      throw Refusal(expected: "a polygon with all corners within 100 km of the first: check for a mistyped corner")
    }
    let edges = points.indices.map { (points[$0], points[($0 + 1) % points.count]) }
    // Twice the area; its sign shows the direction of the corners.
    let doubled = edges.reduce(0) { $0 + FenceArea.cross($1.0, $1.1) }
    guard abs(doubled) >= 2 else { throw Refusal(expected: "a polygon with an area: its corners are on one line") }
    if let index = edges.firstIndex(where: { FenceArea.length($0.1 - $0.0) < 0.01 }) {
      throw Refusal(expected: "a polygon without repeated corners: corner \(index + 1) appears twice")
    }
    for index in edges.indices {
      for other in edges.indices where other > index + 1 && (index > 0 || other < edges.count - 1) {
        guard !FenceArea.meet(edges[index], edges[other]) else {
          throw Refusal(
            expected: "a polygon whose edges do not cross: the edges that begin at corners \(index + 1) and "
              + "\(other + 1) cross; give the corners in their order around it")
        }
      }
    }
    shape = .polygon(corners)
    squareMetres = abs(doubled) / 2
  }

  /// The distance of a place beyond the edge, metres; negative inside.
  public func metresBeyond(_ place: Coordinate) -> Double {
    switch shape {
    case .circle(let centre, let radius): return FenceArea.length(FenceArea.offset(of: centre, from: place)) - radius
    case .polygon(let corners):
      let first = FenceArea.length(FenceArea.offset(of: corners[0], from: place))
      if first > FenceArea.farMetres { return first }
      return FenceArea.distanceBeyond(corners.map { FenceArea.offset(of: $0, from: place) })
    }
  }

  /// Whether a circle of this radius fits inside the area. The search stops at squares of a sixteenth of the radius, so
  /// it can miss a circle that only just fits. Returns `true` if the search takes too long: a polygon with many long
  /// teeth would take minutes.
  func holdsCircle(ofRadius radius: Double) -> Bool {
    switch shape {
    case .circle(_, let own): return own >= radius
    case .polygon(let corners):
      // An area smaller than the circle cannot contain the circle.
      if squareMetres < .pi * radius * radius { return false }
      let points = corners.map { FenceArea.offset(of: $0, from: corners[0]) }
      let (norths, easts) = (points.map(\.x), points.map(\.y))
      let least = SIMD2(norths.min() ?? 0, easts.min() ?? 0)
      let most = SIMD2(norths.max() ?? 0, easts.max() ?? 0)
      // A square is cut into four as long as it may contain the centre of such a circle.
      var squares = [(centre: (least + most) / 2, half: (most - least).max() / 2)]
      var squaresLeft = FenceArea.mostDistances / points.count
      while let (centre, half) = squares.popLast() {
        squaresLeft -= 1
        if squaresLeft < 0 { return true }
        let within = -FenceArea.distanceBeyond(points.map { $0 - centre })
        if within >= radius { return true }
        // A point of the square is at most `half * √2` away from the square's centre, so it is further from the edge by
        // that length at most.
        guard within + half * 2.0.squareRoot() >= radius, half > radius / 16 else { continue }
        for north in [-half / 2, half / 2] {
          for east in [-half / 2, half / 2] { squares.append((centre + SIMD2(north, east), half / 2)) }
        }
      }
      return false
    }
  }

  // MARK: On a plane that touches the earth, metres north and east

  private static func isPlace(_ place: Coordinate) -> Bool {
    latitudeDegrees.contains(place.latitudeDegrees) && longitudeDegrees.contains(place.longitudeDegrees)
  }

  /// The offset in metres north and east, by the radii of curvature halfway. Its error grows with the third power of
  /// the distance: 0.2 m in 55 km.
  private static func offset(of place: Coordinate, from origin: Coordinate) -> SIMD2<Double> {
    let middle = GeodeticPosition(
      latitudeDegrees: (place.latitudeDegrees + origin.latitudeDegrees) / 2,
      longitudeDegrees: origin.longitudeDegrees, altitude: 0)
    func fromMiddle(_ place: Coordinate) -> SIMD3<Double> {
      GeodeticPosition(
        latitudeDegrees: place.latitudeDegrees, longitudeDegrees: place.longitudeDegrees, altitude: 0
      ).offset(from: middle)
    }
    let way = fromMiddle(place) - fromMiddle(origin)
    return SIMD2(way.x, way.y)
  }

  /// The distance of the origin beyond the edge of a polygon; negative inside.
  private static func distanceBeyond(_ points: [SIMD2<Double>]) -> Double {
    var nearest = Double.infinity
    var isWithin = false
    for (index, one) in points.enumerated() {
      let other = points[(index + 1) % points.count]
      nearest = min(nearest, distance(toEdgeFrom: one, to: other))
      // Count the edges that a ray to the east crosses.
      if (one.x > 0) != (other.x > 0), one.y - one.x * (other.y - one.y) / (other.x - one.x) > 0 { isWithin.toggle() }
    }
    return isWithin ? -nearest : nearest
  }

  private static func length(_ vector: SIMD2<Double>) -> Double { (vector * vector).sum().squareRoot() }

  private static func cross(_ one: SIMD2<Double>, _ other: SIMD2<Double>) -> Double {
    one.x * other.y - one.y * other.x
  }

  /// The distance of an edge from the origin.
  private static func distance(toEdgeFrom one: SIMD2<Double>, to other: SIMD2<Double>) -> Double {
    let edge = other - one
    let along = -(one * edge).sum() / (edge * edge).sum()
    return length(one + min(max(along, 0), 1) * edge)
  }

  /// Whether two edges meet, even in one point.
  private static func meet(
    _ one: (SIMD2<Double>, SIMD2<Double>), _ other: (SIMD2<Double>, SIMD2<Double>)
  ) -> Bool {
    func side(_ point: SIMD2<Double>, _ edge: (SIMD2<Double>, SIMD2<Double>)) -> Double {
      cross(edge.1 - edge.0, point - edge.0)
    }
    func boxes(_ axis: Int) -> Bool {
      max(one.0[axis], one.1[axis]) >= min(other.0[axis], other.1[axis])
        && max(other.0[axis], other.1[axis]) >= min(one.0[axis], one.1[axis])
    }
    return boxes(0) && boxes(1) && side(other.0, one) * side(other.1, one) <= 0
      && side(one.0, other) * side(one.1, other) <= 0
  }
}

extension FenceArea: CustomStringConvertible {
  /// A description with all digits, so that areas with equal descriptions are equal.
  public var description: String {
    switch shape {
    case .circle(let centre, let radius): "circle \(centre.latitudeDegrees) \(centre.longitudeDegrees) \(radius)"
    case .polygon(let corners):
      "polygon " + corners.map { "\($0.latitudeDegrees) \($0.longitudeDegrees)" }.joined(separator: " ")
    }
  }
}
