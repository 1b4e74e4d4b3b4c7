import NMEA

/// A fence with its settings, from the board file or from a client that added it while the hub ran.
public struct FenceSettings: Equatable, Sendable {
  /// The permitted values of `grace`, seconds.
  public static let graceSeconds = 1.0...3600
  /// The permitted values of `every`, seconds.
  public static let everySeconds = 10.0...86_400
  /// The permitted values of `speedMetresPerSecond`.
  public static let speeds = 0.01...1000.0
  static let usualGrace = Duration.seconds(20)
  static let usualEvery = Duration.seconds(600)
  static let usualSpeed = 0.5
  static let usualAccuracyMetres = 20.0

  /// The user's name for the fence, for journals and messages.
  public var name: String
  public var area: FenceArea
  /// How long all fixes must be on the other side before the hub reports the change; it reports it earlier after two
  /// consecutive fixes that are certain. Also how late a fix may be before the side becomes unknown, but at least 10 s.
  public var grace: Duration
  /// The longest time from one fix to the next.
  public var every: Duration
  /// The speed that the board may have until the next fix, even if the last fix shows a lower one.
  public var speedMetresPerSecond: Double
  /// The required accuracy: the radius that contains 95 % of fixes, metres. A less accurate fix counts only if its
  /// side is certain.
  public var accuracyMetres: Double

  public init(
    name: String, area: FenceArea, grace: Duration? = nil, every: Duration? = nil, speedMetresPerSecond: Double? = nil,
    accuracyMetres: Double? = nil
  ) {
    self.name = name
    self.area = area
    self.grace = grace ?? FenceSettings.usualGrace
    self.every = every ?? FenceSettings.usualEvery
    self.speedMetresPerSecond = speedMetresPerSecond ?? FenceSettings.usualSpeed
    // A small fence needs a better accuracy: half the radius of a circle of its size.
    self.accuracyMetres =
      accuracyMetres
      ?? max(
        Schedule.accuracyMetres.lowerBound,
        min(FenceSettings.usualAccuracyMetres, (area.squareMetres / .pi).squareRoot() / 2))
  }
}

extension FenceSettings {
  init(_ name: String, _ section: BoardSection) throws(BoardError) {
    var section = section
    guard DeviceDescription.isID(name) else {
      throw section.wrong(expected: "named with \(DeviceDescription.idForm)")
    }
    guard section.has("circle") != section.has("polygon") else {
      throw section.wrong(
        expected: section.has("circle")
          ? "one area, and has a 'circle' and a 'polygon': name two fences"
          : "an area: circle: [latitude, longitude, metres], or polygon: [[latitude, longitude], …]")
    }
    let area: FenceArea
    do throws(FenceArea.Refusal) {
      if let circle = section.numberRow("circle") {
        let centre = circle.count == 3 ? Coordinate(latitudeDegrees: circle[0], longitudeDegrees: circle[1]) : .nowhere
        area = try FenceArea(circleAbout: centre, radiusMetres: circle.last ?? 0)
      } else {
        area = try FenceArea(
          polygon: (section.numberRows("polygon") ?? []).map { corner in
            corner.count == 2 ? Coordinate(latitudeDegrees: corner[0], longitudeDegrees: corner[1]) : .nowhere
          })
      }
    } catch {
      throw section.wrong(section.has("circle") ? "circle" : "polygon", expected: error.expected)
    }
    self.init(
      name: name, area: area,
      grace: try section.number("grace", in: FenceSettings.graceSeconds).map { .nanoseconds(Int64($0 * 1e9)) },
      every: try section.number("every", in: FenceSettings.everySeconds).map { .nanoseconds(Int64($0 * 1e9)) },
      speedMetresPerSecond: try section.number("speed", in: FenceSettings.speeds),
      accuracyMetres: try section.number("accuracy", in: Schedule.accuracyMetres))
    try section.finish()
  }
}

extension Coordinate {
  /// An invalid coordinate, for a list of the wrong length.
  fileprivate static var nowhere: Coordinate { Coordinate(latitudeDegrees: .nan, longitudeDegrees: .nan) }
}
