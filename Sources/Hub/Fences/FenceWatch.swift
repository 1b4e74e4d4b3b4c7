import Fusion
import MonotonicTime

/// Decides which side of a fence the board is on, and when it needs the next fix. It only decides: no clock, no lease.
///
/// A change of side needs two fixes in a row that are beyond the edge by more than their errors (95 %), or only fixes
/// beyond the edge for the length of the grace; one wrong fix changes nothing. In doubt, fixes follow closely.
/// Otherwise the next one is due before the edge can be reached, at the last observed or the assumed speed, plus half
/// of the grace, which is the permitted delay of an alarm.
struct FenceWatch: Sendable {
  typealias Side = FenceStatus.State

  /// The number of fixes within a grace, when it matters.
  private static let fixesInGrace = 20
  private static let leastInterval = Duration.seconds(1)
  /// Between two tries while fixes say nothing, at least.
  private static let leastRetry = Duration.seconds(30)
  /// The permitted delay of a fix: it may share the wake of another, and takes an epoch or two.
  private static let leastPatience = Duration.seconds(10)

  private struct Doubt {
    var since: MonotonicInstant
    /// Sure ones in a row.
    var sureCount = 0
  }

  let settings: FenceSettings
  private(set) var status: FenceStatus
  /// Kept while it is unknown whether it is still so; `nil` before it was known.
  private(set) var side: Side?
  /// Fixes lie on the other side.
  private var doubt: Doubt?
  /// The last fix was as good as was asked for, which says nothing where it lies: nearer to the edge than was known.
  private var isTooPoor = false
  /// When a fix is due, or was that has not come yet.
  private(set) var wantedAt: MonotonicInstant
  /// From the last fix that was asked for until the next one.
  private(set) var interval: Duration

  /// - Parameter side: the last known side, from an earlier watch
  init(_ settings: FenceSettings, rememberedSide side: Side? = nil, at now: MonotonicInstant) {
    self.settings = settings
    self.side = side
    status = FenceStatus(name: settings.name, since: now)
    // A receiver may have to start cold.
    wantedAt = now + Schedule.usualWithin
    interval = FenceWatch.leastInterval
  }

  /// When it is too late for a fix; `nil` while that has been said.
  var blindAt: MonotonicInstant? {
    status.event == .lost ? nil : wantedAt + max(settings.grace, FenceWatch.leastPatience)
  }

  /// The request for the next fix: in time, and no more accurate than the decision needs. In doubt it must be a new
  /// one, even without motion: the last fix again is no second witness.
  var schedule: Schedule {
    let accuracy = max(settings.accuracyMetres, isTooPoor ? 0 : status.metresBeyond.map { abs($0) / 2 } ?? 0)
    var schedule = Schedule(every: interval, accuracyMetres: min(accuracy, Schedule.accuracyMetres.upperBound))
    schedule.takesStanding = doubt == nil && status.state != .unknown
    schedule.isRelaxable = false
    return schedule
  }

  /// The requested fix has come, or has not.
  ///
  /// - Returns: the change
  mutating func receive(_ fix: FenceFix?, at now: MonotonicInstant) -> FenceStatus.Event? {
    guard let fix, let beyond = usable(fix) else {
      if let fix, !isTooPoor, Confidence.radial * fix.sigmaMetres <= schedule.accuracyMetres ?? .infinity {
        isTooPoor = true
        interval = FenceWatch.leastInterval
        return lookForLate(at: now)
      }
      // As long again as it has been missing.
      let missing = max(FenceWatch.leastRetry, now - wantedAt)
      interval = FenceWatch.wholeSeconds(min(missing, settings.every))
      return lookForLate(at: now)
    }
    isTooPoor = false
    status.fix = fix
    status.metresBeyond = beyond
    let event = judge(beyond, fix, at: now)
    interval = FenceWatch.wholeSeconds(nextInterval(beyond, fix, at: now))
    wantedAt = now + interval
    return event
  }

  /// The machine was suspended: a fix may be late, and those before are older.
  mutating func goBack(by slept: Duration) {
    doubt = nil
    wantedAt.moveBack(by: slept)
    status.since.moveBack(by: slept)
    status.fix?.at.moveBack(by: slept)
  }

  /// Time has gone by.
  mutating func lookForLate(at now: MonotonicInstant) -> FenceStatus.Event? {
    guard let blindAt, now >= blindAt else { return nil }
    doubt = nil
    return change(to: .unknown, .lost, at: now)
  }

  /// The distance beyond the edge, metres; `nil` if the fix is too uncertain for that.
  private func usable(_ fix: FenceFix) -> Double? {
    let beyond = settings.area.metresBeyond(fix.place)
    let radius = Confidence.radial * fix.sigmaMetres
    return beyond.isFinite && (radius <= settings.accuracyMetres || radius < abs(beyond)) ? beyond : nil
  }

  private mutating func judge(_ beyond: Double, _ fix: FenceFix, at now: MonotonicInstant) -> FenceStatus.Event? {
    let seen: Side = beyond > 0 ? .outside : .inside
    if seen == side {
      doubt = nil
      return status.state == seen ? nil : change(to: seen, .found, at: now)
    }
    var present = doubt ?? Doubt(since: fix.at)
    present.sureCount = abs(beyond) > Confidence.radial * fix.sigmaMetres ? present.sureCount + 1 : 0
    guard present.sureCount >= 2 || fix.at - present.since >= settings.grace else {
      doubt = present
      return nil
    }
    doubt = nil
    let isFirst = side == nil
    side = seen
    return change(to: seen, isFirst ? .found : seen == .outside ? .leave : .enter, at: now)
  }

  private mutating func change(
    to state: Side, _ event: FenceStatus.Event, at now: MonotonicInstant
  ) -> FenceStatus.Event {
    status.state = state
    status.event = event
    status.since = now
    return event
  }

  private func nextInterval(_ beyond: Double, _ fix: FenceFix, at now: MonotonicInstant) -> Duration {
    if doubt != nil { return settings.grace / FenceWatch.fixesInGrace }
    let margin = max(0, abs(beyond) - Confidence.radial * fix.sigmaMetres)
    let speed = max(settings.speedMetresPerSecond, fix.speedMetresPerSecond ?? 0)
    // An early fix is held until its time, and the board may have moved in the meantime.
    let age = fix.isStill ? 0 : max(0, now.seconds(since: fix.at))
    let seconds = min(margin / speed + settings.grace.inSeconds / 2 - age, settings.every.inSeconds)
    return .nanoseconds(Int64(max(0, seconds) * 1e9))
  }

  private static func wholeSeconds(_ duration: Duration) -> Duration {
    max(leastInterval, .seconds(duration.components.seconds))
  }
}
