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
