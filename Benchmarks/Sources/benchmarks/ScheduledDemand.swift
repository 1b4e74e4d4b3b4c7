import Hub
import MonotonicTime

/// A demand for scheduled fixes, and its duration.
struct ScheduledDemand: Sendable {
  static let day = 86_400.0
  /// How long an ephemeris is valid, and how long receiving it takes.
  private static let (ephemerisLifeSeconds, ephemerisSeconds) = (4 * 3600.0, 30.0)

  var name: String
  var seconds: Double
  /// `nil` for a fence, which chooses its own schedule.
  var schedule: Schedule?
  /// The period of each day in which the board stands still, in seconds of the day, detected by an inertial sensor.
  /// `nil` without one.
  var standing: Range<Double>?
  /// The radius of an anchor fence in metres, and how far the boat swings to each side.
  var fenceMetres: Double?
  var swingMetres = 0.0

  static let all = [
    ScheduledDemand(name: "a fix every minute, on a schedule", seconds: 7 * day, schedule: every(60)),
    ScheduledDemand(name: "a fix every 15 minutes, on a schedule", seconds: 7 * day, schedule: every(900)),
    ScheduledDemand(
      name: "a tracker that stands 22 hours a day, a fix every minute", seconds: 7 * day, schedule: every(60),
      standing: 0..<22 * 3600),
    ScheduledDemand(
      name: "an anchor watch for a night, 40 m, swinging by 12 m", seconds: 8 * 3600, fenceMetres: 40, swingMetres: 12),
  ]

  private static func every(_ seconds: Int) -> Schedule {
    Schedule(every: .seconds(seconds), accuracyMetres: 10, within: .seconds(45))
  }

  private var period: Double? { schedule?.every.inSeconds }

  /// The index of the fix for which a receiver is started at an instant. The first fix is due immediately, the others
  /// at each multiple of the period.
  func fixIndex(startedAt instant: MonotonicInstant, since began: MonotonicInstant) -> Int {
    if instant <= began { return 0 }
    return Int(Double(instant.nanoseconds) * 1e-9 / (period ?? 60)) + 1
  }

  /// The number of fixes; `nil` if it depends on the run.
  var fixCount: Int? { standing == nil ? period.map { Int(seconds / $0) + 1 } : nil }

  /// The minimum energy in joules of a policy that knows the duration of each start in advance; `nil` if the fixes are
  /// not known in advance. The policy wakes the receiver early enough that the fix is ready when it is due, and
  /// switches it off immediately afterwards. If staying on costs less, the receiver stays on until the next fix may be
  /// taken, as early as the schedule allows. A start that takes longer than the schedule allows counts only for that
  /// time. If starts are short because the receiver has ephemerides, the time to renew them counts too.
  func optimum(_ receiver: PowerReceiver) -> Double? {
    guard let schedule, let period, let fixCount else { return nil }
    let within = schedule.within.inSeconds
    // The shortest time on, in seconds, up to a fix that is taken when it is due, and up to one that is taken as early
    // as the schedule allows.
    var (late, early) = (0.0, Double.infinity)
    for index in 0..<fixCount {
      let start = min(startSeconds(ofFix: index, receiver), within)
      let staying = index == 0 ? .infinity : min(late + max(0, period - within), early + period)
      (late, early) = (min(min(late, early) + start, staying + min(within, period)), staying)
    }
    let isHot = startSeconds(ofFix: 1, receiver) < 15
    let listening = isHot ? (seconds / ScheduledDemand.ephemerisLifeSeconds).rounded(.down) : 0
    return (min(late, early) + listening * ScheduledDemand.ephemerisSeconds) * PowerReceiver.watts
  }

  /// The number of fixes that are attainable within the time that the schedule allows; `nil` if the fixes are not
  /// known in advance.
  func attainableCount(_ receiver: PowerReceiver) -> Int? {
    guard let schedule, let fixCount else { return nil }
    // The first fix is due as soon as it is requested, so it cannot be on time.
    return (1..<fixCount).count { startSeconds(ofFix: $0, receiver) <= schedule.within.inSeconds }
  }

  /// The duration of the start for a fix until the fix is accurate, if the start is made at all.
  private func startSeconds(ofFix index: Int, _ receiver: PowerReceiver) -> Double {
    let kind = index == 0 ? RestartCosts.Kind.cold : RestartCosts.Kind(after: period ?? 0)
    return (receiver.seconds[kind] ?? 0) * PowerReceiver.luck(ofFix: index) + ScheduledReceiver.settlingSeconds
  }
}
