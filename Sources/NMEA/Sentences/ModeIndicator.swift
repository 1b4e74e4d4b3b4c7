/// The letter in RMC, GLL, GNS and VTG (NMEA 2.3 and later) that states the source of a position.
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
  /// A letter that no edition of the standard defines.
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

  /// The best mode of a field with a letter for each system; `nil` for none.
  init?(ofSystems letters: UnsafeBufferPointer<UInt8>) {
    var best: ModeIndicator?
    for letter in letters {
      let mode = ModeIndicator(letter)
      if best.map({ mode.rank > $0.rank }) ?? true { best = mode }
    }
    guard let best else { return nil }
    self = best
  }

  /// The rank for choosing the best mode. Simulated and manual positions rank highest, so that a field with one of them
  /// never counts as a measurement.
  private var rank: Int {
    switch self {
    case .simulator: 9
    case .manual: 8
    case .rtkFixed: 7
    case .rtkFloat: 6
    case .precise: 5
    case .differential: 4
    case .autonomous: 3
    case .other: 2
    case .estimated: 1
    case .invalid: 0
    }
  }
}
