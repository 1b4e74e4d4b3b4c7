/// Geographic position: latitude, longitude and time.
public struct GLL: Equatable, Sendable {
  public var position: Coordinate?
  public var time: TimeOfDay?
  public var status: Status
  public var mode: ModeIndicator?

  public enum Status: Sendable {
    case valid
    case invalid
    /// Older receivers leave the field empty; nothing can be said.
    case missing
  }

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    position = fields.coordinate()
    time = fields.timeOfDay()
    switch fields.character() {
    case Byte.A: status = .valid
    case nil: status = .missing
    default: status = .invalid
    }
    mode = fields.character().map(ModeIndicator.init)
  }
}
