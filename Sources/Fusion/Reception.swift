/// What a receiver says of who disturbs its reception.
public struct Reception: Equatable, Sendable {
  public enum Jamming: String, CaseIterable, Sendable {
    case unknown
    case none
    /// There is interference, and still a fix.
    case warning
    /// There is interference, and no fix for it.
    case critical
  }

  public enum Spoofing: String, CaseIterable, Sendable {
    case unknown
    case none
    case indicated
    /// By several signs.
    case multiple
  }

  public var jamming = Jamming.unknown
  public var spoofing = Spoofing.unknown
  /// Continuous waves: 0 none to 255 strong; gpsd's `jam`.
  public var jammingIndicator: UInt8?

  public init(jamming: Jamming = .unknown, spoofing: Spoofing = .unknown, jammingIndicator: UInt8? = nil) {
    self.jamming = jamming
    self.spoofing = spoofing
    self.jammingIndicator = jammingIndicator
  }

  /// The receiver reports that it is being deceived.
  public var isSpoofed: Bool { spoofing == .indicated || spoofing == .multiple }

  /// What a standard deviation is worth that the receiver states under these circumstances. No receiver says what jamming costs
  /// it; with these it is weighed less, and one that hears well is preferred to it.
  public func doubted(_ sigma: Double) -> Double {
    let factor: Double =
      switch jamming {
      case .unknown, .none: 1
      case .warning: 2
      case .critical: 5
      }
    return factor * sigma
  }

  /// The same of a position, metres: that of a receiver that is deceived may be anywhere.
  public func doubted(positionSigma sigma: Double) -> Double { isSpoofed ? max(100, doubted(sigma)) : doubted(sigma) }

  /// The same of a velocity, m/s.
  public func doubted(velocitySigma sigma: Double) -> Double { isSpoofed ? max(5, doubted(sigma)) : doubted(sigma) }
}
