import MonotonicTime

/// The limits on the rate and accuracy of scheduled fixes while energy is short.
public struct Relaxation: Equatable, Sendable {
  /// The shortest interval of fixes.
  public var every: Duration?
  /// The accuracy that is good enough, metres.
  public var accuracyMetres: Double?

  public init(every: Duration? = nil, accuracyMetres: Double? = nil) {
    self.every = every
    self.accuracyMetres = accuracyMetres
  }

  public static let none = Relaxation()

  /// The combination: the stricter of each limit.
  func and(_ other: Relaxation) -> Relaxation {
    func larger<Value: Comparable>(_ one: Value?, _ other: Value?) -> Value? {
      guard let one, let other else { return one ?? other }
      return max(one, other)
    }
    return Relaxation(
      every: larger(every, other.every), accuracyMetres: larger(accuracyMetres, other.accuracyMetres))
  }

  /// The schedule within these limits. A request for any fix, or for a warning, is not relaxed.
  func applied(to schedule: Schedule) -> Schedule {
    guard schedule.isRelaxable else { return schedule }
    var relaxed = schedule
    if let every { relaxed.every = max(relaxed.every, every) }
    if let accuracyMetres { relaxed.accuracyMetres = relaxed.accuracyMetres.map { max($0, accuracyMetres) } }
    return relaxed
  }

  /// A description such as `fixes come at most every 300 s, and 25 m will do`; `nil` if nothing is relaxed.
  var text: String? {
    guard let every else { return accuracyMetres.map { "fixes of \($0.short) m will do" } }
    return "fixes come at most every \(every.inSeconds.short) s"
      + (accuracyMetres.map { ", and \($0.short) m will do" } ?? "")
  }
}
