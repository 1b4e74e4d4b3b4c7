import MonotonicTime

/// A request for fixes: their interval, their accuracy, and the time that a device may be awake for each.
public struct Schedule: Equatable, Sendable {
  /// The permitted ranges of a request's values, in the units of their names.
  public static let everySeconds = 1.0...7 * 86_400
  public static let accuracyMetres = 0.1...10_000.0
  public static let withinSeconds = 1.0...3600
  public static let usualWithin = Duration.seconds(60)

  /// The time from one fix to the next.
  public var every: Duration
  /// The radius that must contain the true position with a probability of 95 %, metres; `nil` if any fix is enough.
  public var accuracyMetres: Double?
  /// The time limit of a fix. At the limit, the best available fix is delivered with its accuracy.
  public var within: Duration
  /// The maximum age of a known fix that is enough, even if it was made for another client; `nil` to require a new one.
  public var maxAge: Duration?
  /// Whether the last fix may be repeated while the board does not move.
  var takesReusedFix = true
  /// Whether the interval is only valid while the board does not move. Once motion is possible, the next fix is due at
  /// once.
  var needsStillness = false
  /// Whether a good fix is delivered at once, even if it is due later. The client must know the present position, so it
  /// has no use for a fix that waits.
  var takesEarlyFix = false
  /// Whether the search for a position pauses while there is no reception. It is for requests whose next fix is due at
  /// once if there was none. With an interval, the client has chosen how often to search.
  var pausesSearch = false
  /// Whether a fix may be later or less accurate if energy is short. The requests of fences are not degraded, because
  /// fences raise alarms.
  var isDegradable = true

  public init(every: Duration, accuracyMetres: Double? = nil, within: Duration = Schedule.usualWithin) {
    self.every = every
    self.accuracyMetres = accuracyMetres
    self.within = within
  }

  /// A request with values from people or programs; `nil` if a value is out of range.
  public init?(everySeconds: Double, accuracyMetres: Double?, withinSeconds: Double?) {
    guard Schedule.everySeconds.contains(everySeconds),
      accuracyMetres.map(Schedule.accuracyMetres.contains) ?? true,
      withinSeconds.map(Schedule.withinSeconds.contains) ?? true
    else { return nil }
    self.init(
      every: .nanoseconds(Int64(everySeconds * 1e9)), accuracyMetres: accuracyMetres,
      within: withinSeconds.map { .nanoseconds(Int64($0 * 1e9)) } ?? Schedule.usualWithin)
  }

  /// A fix that is due at most this time after another fix shares the wake of that fix. It may be older by this time
  /// when it is delivered.
  var slack: Duration { min(every / 10, .seconds(5)) }

  /// A fix that is due at most this time after a wake shares that wake too, which saves a start. The fix is delivered
  /// early.
  var advance: Duration { min(every / 10, .seconds(30)) }
}
