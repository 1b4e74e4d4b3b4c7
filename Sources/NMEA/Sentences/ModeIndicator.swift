/// The letter by which RMC, GLL, GNS and VTG (NMEA 2.3 and later) say how a position came about.
public enum ModeIndicator: Equatable, Sendable {
  case autonomous
  case differential
  case estimated
  case rtkFloat
  case manual
  case invalid
  case precise
  case rtkFixed
  case simulator
  /// A letter that no edition of the standard knows.
  case other

  init(_ letter: UInt8) {
    switch letter {
    case Byte.A: self = .autonomous
    case Byte.D: self = .differential
    case Byte.E: self = .estimated
    case Byte.F: self = .rtkFloat
    case Byte.M: self = .manual
    case Byte.N, Byte.V: self = .invalid
    case Byte.P: self = .precise
    case Byte.R: self = .rtkFixed
    case Byte.S: self = .simulator
    default: self = .other
    }
  }
}
