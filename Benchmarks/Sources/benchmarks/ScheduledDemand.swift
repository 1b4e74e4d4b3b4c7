import Hub
import MonotonicTime

/// Who wants fixes on a schedule, and for how long.
struct ScheduledDemand: Sendable {
  static let day = 86_400.0
  /// For how long an ephemeris is good at most, and how long it takes to be heard.
  private static let (ephemerisLifeSeconds, ephemerisSeconds) = (4 * 3600.0, 30.0)

  var name: String
  var seconds: Double
  /// `nil` for a fence, which chooses its own.
  var schedule: Schedule?
  /// Of each day it stands so long without a stir, from one second of it to another, and an inertial sensor tells.
  var standing: Range<Double>?
  /// Of a fence about an anchor, metres, and how far the boat swings to each side.
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

  /// Which fix it is for that a receiver is started at an instant: the first is due at once, the others at each multiple of the pace.
  func fixIndex(startedAt instant: MonotonicInstant, since began: MonotonicInstant) -> Int {
    if instant <= began { return 0 }
    return Int(Double(instant.nanoseconds) * 1e-9 / (period ?? 60)) + 1
  }

  /// How many fixes are due; `nil` where that follows from what happens.
  var fixCount: Int? { standing == nil ? period.map { Int(seconds / $0) + 1 } : nil }

  /// What it takes who knows beforehand how long each start will take, joules: he wakes the receiver so early that the fix is there
  /// when it is due, and lets go of it at once; or has it stay on, where that costs less, until the next fix may be taken, which is
  /// as early as the schedule lets a receiver be awake for it. Of a start that takes longer than that he pays as much as is allowed.
  /// Of one whose starts are short because it knows where its satellites will be, he hears these out as often as that takes. `nil`
  /// where nobody knows which fixes it takes.
  func optimum(_ receiver: PowerReceiver) -> Double? {
    guard let schedule, let period, let fixCount else { return nil }
    let within = schedule.within.inSeconds
    // Least seconds up to a fix that is taken when it is due, and to one that is taken as early as may be.
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

  /// How many fixes a start can bring within the time that the schedule allows; `nil` where nobody knows which fixes it takes.
  func attainableCount(_ receiver: PowerReceiver) -> Int? {
    guard let schedule, let fixCount else { return nil }
    // The first is due as soon as it is asked for.
    return (1..<fixCount).count { startSeconds(ofFix: $0, receiver) <= schedule.within.inSeconds }
  }

  /// What the start for a fix takes until that is good, if it is made at all.
  private func startSeconds(ofFix index: Int, _ receiver: PowerReceiver) -> Double {
    let kind = index == 0 ? RestartCosts.Kind.cold : RestartCosts.Kind(after: period ?? 0)
    return (receiver.seconds[kind] ?? 0) * PowerReceiver.luck(ofFix: index) + ScheduledReceiver.settlingSeconds
  }
}
