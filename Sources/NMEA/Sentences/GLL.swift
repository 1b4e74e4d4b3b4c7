/// Geographic position: latitude, longitude and time.
public struct GLL: Equatable, Sendable {
  public var position: Coordinate?
  public var time: TimeOfDay?
  public var status: Status
  public var mode: ModeIndicator?

  public enum Status: Sendable {
    case valid
    case invalid
    /// The field is empty, as in older receivers, so the status is unknown.
    case missing

    /// Reads the status. `A` is valid, and so is `D`, with which many RTK receivers mark a differential fix. All other
    /// letters are warnings.
    @inline(__always)
    init(_ letter: UInt8?) {
      switch letter {
      case Byte.A, Byte.D: self = .valid
      case nil: self = .missing
      default: self = .invalid
      }
    }
  }

  @inline(__always)
  init?(_ fields: inout FieldReader) {
    guard fields.remaining >= 6 else { return nil }
    position = fields.coordinate()
    time = fields.timeOfDay()
    status = Status(fields.character())
    mode = fields.character().map(ModeIndicator.init)
  }
}
