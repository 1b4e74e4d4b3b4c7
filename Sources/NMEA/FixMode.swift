/// The number of known dimensions of a position. Raw values are the numbers in GSA and of gpsd.
public enum FixMode: UInt8, Equatable, Comparable, Sendable {
  /// No information about a fix has arrived yet.
  case unknown = 0
  case noFix = 1
  case twoDimensional = 2
  case threeDimensional = 3

  init?(gsa value: UInt8) {
    guard (1...3).contains(value) else { return nil }
    self.init(rawValue: value)
  }

  public static func < (lhs: FixMode, rhs: FixMode) -> Bool { lhs.rawValue < rhs.rawValue }
}

/// The source of a fix. Raw values are the numbers of gpsd's `status`.
public enum FixStatus: UInt8, Equatable, Sendable {
  case unknown = 0
  case gnss = 1
  case differential = 2
  case rtkFixed = 3
  case rtkFloat = 4
  case deadReckoning = 5
  case surveyed = 7
  case simulated = 8
  case precise = 9

  init(_ quality: GGA.Quality) {
    switch quality {
    case .invalid: self = .unknown
    case .autonomous: self = .gnss
    case .differential: self = .differential
    case .precise: self = .precise
    case .rtkFixed: self = .rtkFixed
    case .rtkFloat: self = .rtkFloat
    case .estimated: self = .deadReckoning
    case .manual: self = .surveyed
    case .simulator: self = .simulated
    }
  }

  init(_ mode: ModeIndicator?) {
    switch mode {
    case nil, .invalid: self = .unknown
    case .autonomous, .other: self = .gnss
    case .differential: self = .differential
    case .precise: self = .precise
    case .estimated: self = .deadReckoning
    case .rtkFloat: self = .rtkFloat
    case .rtkFixed: self = .rtkFixed
    case .manual: self = .surveyed
    case .simulator: self = .simulated
    }
  }
}
