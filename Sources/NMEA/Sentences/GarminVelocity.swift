/// PGRMV: velocity in three dimensions.
public struct GarminVelocity: Equatable, Sendable {
  public var velocity: Velocity

  init?(_ fields: inout FieldReader) {
    guard let east = fields.number(), let north = fields.number(), let up = fields.number() else { return nil }
    velocity = Velocity(northMetresPerSecond: north, eastMetresPerSecond: east, downMetresPerSecond: -up)
  }
}
