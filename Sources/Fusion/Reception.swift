/// A receiver's report on interference with its reception.
public struct Reception: Equatable, Sendable {
  public enum Jamming: String, CaseIterable, Sendable {
    case unknown
    case none
    /// Interference is present, but there is a fix.
    case warning
    /// Interference is present and prevents a fix.
    case critical
  }

  public enum Spoofing: String, CaseIterable, Sendable {
    case unknown
    case none
    case indicated
    /// Several signs indicate spoofing.
    case multiple
  }

  public var jamming = Jamming.unknown
  public var spoofing = Spoofing.unknown
  /// Continuous-wave interference, from 0 for none to 255 for strong; gpsd's `jam`.
  public var jammingIndicator: UInt8?

  public init(jamming: Jamming = .unknown, spoofing: Spoofing = .unknown, jammingIndicator: UInt8? = nil) {
    self.jamming = jamming
    self.spoofing = spoofing
    self.jammingIndicator = jammingIndicator
  }

  /// Whether the receiver reports spoofing.
  public var isSpoofed: Bool { spoofing == .indicated || spoofing == .multiple }

  /// The sigma to use instead of the reported one. Receivers do not include the effect of jamming in their sigmas.
  /// With a larger value the fix is weighted less, and a receiver with undisturbed reception is preferred.
  public func doubted(_ sigma: Double) -> Double {
    let factor: Double =
      switch jamming {
      case .unknown, .none: 1
      case .warning: 2
      case .critical: 5
      }
    return factor * sigma
  }

  /// The sigma to use for a position in metres. A spoofed position may be anywhere.
  public func doubted(positionSigma sigma: Double) -> Double { isSpoofed ? max(100, doubted(sigma)) : doubted(sigma) }

  /// The sigma to use for a velocity in m/s.
  public func doubted(velocitySigma sigma: Double) -> Double { isSpoofed ? max(5, doubted(sigma)) : doubted(sigma) }
}
