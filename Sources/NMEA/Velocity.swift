/// Velocity over ground in the local north, east, down frame, metres per second.
public struct Velocity: Equatable, Sendable {
  public var northMetresPerSecond: Double
  public var eastMetresPerSecond: Double
  public var downMetresPerSecond: Double

  public init(northMetresPerSecond: Double, eastMetresPerSecond: Double, downMetresPerSecond: Double) {
    self.northMetresPerSecond = northMetresPerSecond
    self.eastMetresPerSecond = eastMetresPerSecond
    self.downMetresPerSecond = downMetresPerSecond
  }
}
