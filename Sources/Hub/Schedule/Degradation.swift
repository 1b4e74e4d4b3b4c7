import MonotonicTime

/// The limits on the rate and accuracy of scheduled fixes while energy is short.
public struct Degradation: Equatable, Sendable {
  /// The shortest interval of fixes; `nil` for no limit.
  public var every: Duration?
  /// The accuracy that is good enough, metres; `nil` for no limit.
  public var accuracyMetres: Double?

  public init(every: Duration? = nil, accuracyMetres: Double? = nil) {
    self.every = every
    self.accuracyMetres = accuracyMetres
  }

  public static let none = Degradation()

  /// The combination of several steps.
  static func of(_ steps: some Sequence<Degradation>) -> Degradation { steps.reduce(.none) { $0.and($1) } }

  /// The combination: the longer interval, and the larger radius.
  func and(_ other: Degradation) -> Degradation {
    func larger<Value: Comparable>(_ one: Value?, _ other: Value?) -> Value? {
      guard let one, let other else { return one ?? other }
      return max(one, other)
    }
    return Degradation(
      every: larger(every, other.every), accuracyMetres: larger(accuracyMetres, other.accuracyMetres))
  }

  /// The schedule within these limits. The request of a fence is not degraded. A request without an accuracy stays
  /// without one.
  func applied(to schedule: Schedule) -> Schedule {
    guard schedule.isDegradable else { return schedule }
    var degraded = schedule
    if let every { degraded.every = max(degraded.every, every) }
    if let accuracyMetres { degraded.accuracyMetres = degraded.accuracyMetres.map { max($0, accuracyMetres) } }
    return degraded
  }

  /// A description such as `fixes come at most every 300 s, with an accuracy of 25 m`; `nil` if nothing is degraded.
  var text: String? {
    guard let every else { return accuracyMetres.map { "fixes with an accuracy of \($0.short) m are enough" } }
    return "fixes come at most every \(every.inSeconds.short) s"
      + (accuracyMetres.map { ", with an accuracy of \($0.short) m" } ?? "")
  }
}
