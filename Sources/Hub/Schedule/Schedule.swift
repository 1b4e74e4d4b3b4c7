import MonotonicTime

/// A request for fixes: their interval, their accuracy, and the time for which a device may be awake for one.
public struct Schedule: Equatable, Sendable {
  /// The permitted values: seconds, metres, seconds.
  public static let everySeconds = 1.0...7 * 86_400
  public static let accuracyMetres = 0.1...10_000.0
  public static let withinSeconds = 1.0...3600
  public static let usualWithin = Duration.seconds(60)

  /// From one fix to the next.
  public var every: Duration
  /// The radius about the true position within which 95 % of such fixes are, metres; `nil` where any fix will do.
  public var accuracyMetres: Double?
  /// When it is over there is what there is, and it says how good that is.
  public var within: Duration
  /// A last known fix that is at most this old will do, whoever it was for; `nil` if only a new one will.
  public var maxAge: Duration?
  /// While nothing moves the last fix is as good as a new one.
  var takesStanding = true
  /// A fix comes later, or is less accurate, if energy is short. Requests for warnings are not relaxed.
  var isRelaxable = true

  public init(every: Duration, accuracyMetres: Double? = nil, within: Duration = Schedule.usualWithin) {
    self.every = every
    self.accuracyMetres = accuracyMetres
    self.within = within
  }

  /// As people and programs request it; `nil` for values out of range.
  public init?(everySeconds: Double, accuracyMetres: Double?, withinSeconds: Double?) {
    guard Schedule.everySeconds.contains(everySeconds),
      accuracyMetres.map(Schedule.accuracyMetres.contains) ?? true,
      withinSeconds.map(Schedule.withinSeconds.contains) ?? true
    else { return nil }
    self.init(
      every: .nanoseconds(Int64(everySeconds * 1e9)), accuracyMetres: accuracyMetres,
      within: withinSeconds.map { .nanoseconds(Int64($0 * 1e9)) } ?? Schedule.usualWithin)
  }

  /// A fix that is due this soon after another one shares its wake, and may be this much older when it is delivered.
  var slack: Duration { min(every / 10, .seconds(5)) }

  /// A fix that is due this soon after another one shares its wake as well, as that saves a start, and is delivered before its time.
  var advance: Duration { min(every / 10, .seconds(30)) }
}
