import Fusion
import MonotonicTime

/// Decides which side of a fence the board is on, and when it needs the next fix. The rule has no clock and no lease.
///
/// It reports a change of side after two consecutive fixes that are beyond the edge by more than their errors (95 %).
/// It also reports a change if all fixes are beyond the edge for the length of the grace. One wrong fix changes
/// nothing. While the side is in doubt, the interval between fixes is short. Otherwise the rule computes the earliest
/// time at which the board could reach the edge, at the observed or the assumed speed, whichever is higher. The next
/// fix is due half of the grace after that time, because half of the grace is the permitted delay of an alarm. It is
/// due at most `every` after the last fix.
struct FenceRule: Sendable {
  typealias Side = FenceStatus.State

  /// The number of fixes within a grace, if the side is in doubt.
  private static let fixesInGrace = 20
  private static let leastInterval = Duration.seconds(1)
  /// The shortest time between two attempts while fixes are useless.
  private static let leastRetry = Duration.seconds(30)
  /// The shortest delay after which a fix counts as late. A fix may share the wake of another one, and takes an epoch
  /// or two.
  private static let leastPatience = Duration.seconds(10)

  private struct Crossing {
    var since: MonotonicInstant
    /// The number of consecutive fixes that are certain.
    var sureCount = 0
  }

  let settings: FenceSettings
  private(set) var status: FenceStatus
  /// The last known side, even if it is unknown now; `nil` before the first.
  private(set) var side: Side?
  /// The possible crossing; `nil` unless the last fixes are on the other side.
  private var crossing: Crossing?
  /// Whether the last fix had the requested accuracy, but still did not show the side, because the board is nearer to
  /// the edge than expected.
  private var isTooPoor = false
  /// The time at which a fix is or was due.
  private(set) var wantedAt: MonotonicInstant
  /// The time from the last requested fix to the next one.
  private(set) var interval: Duration

  /// - Parameter side: the last known side, from an earlier watch
  init(_ settings: FenceSettings, rememberedSide side: Side? = nil, at now: MonotonicInstant) {
    self.settings = settings
    self.side = side
    status = FenceStatus(name: settings.name, since: now)
    // The first fix may take long, because a receiver may need a cold start.
    wantedAt = now + Schedule.usualWithin
    interval = FenceRule.leastInterval
  }

  /// The time at which a missing fix makes the side unknown; `nil` once the loss has been reported.
  var blindAt: MonotonicInstant? {
    status.event == .lost ? nil : wantedAt + max(settings.grace, FenceRule.leastPatience)
  }

  /// The request for the next fix, no more accurate than the decision needs. While the side is in doubt, it asks for a
  /// new fix even without motion, because repeating the last fix proves nothing.
  var schedule: Schedule {
    let accuracy = max(settings.accuracyMetres, isTooPoor ? 0 : status.metresBeyond.map { abs($0) / 2 } ?? 0)
    var schedule = Schedule(every: interval, accuracyMetres: min(accuracy, Schedule.accuracyMetres.upperBound))
    schedule.takesReusedFix = crossing == nil && status.state != .unknown
    schedule.isDegradable = false
    return schedule
  }

  /// Processes the requested fix; `nil` if it did not come.
  ///
  /// - Returns: the event, if any
  mutating func receive(_ fix: FenceFix?, at now: MonotonicInstant) -> FenceStatus.Event? {
    guard let fix, let beyond = usable(fix) else {
      if let fix, !isTooPoor, Confidence.radial * fix.sigmaMetres <= schedule.accuracyMetres ?? .infinity {
        isTooPoor = true
        interval = FenceRule.leastInterval
        return lookForLate(at: now)
      }
      // The next attempt waits for as long as a fix has been missing.
      let missing = max(FenceRule.leastRetry, now - wantedAt)
      interval = FenceRule.wholeSeconds(min(missing, settings.every))
      return lookForLate(at: now)
    }
    isTooPoor = false
    status.fix = fix
    status.metresBeyond = beyond
    let event = judge(beyond, fix, at: now)
    interval = FenceRule.wholeSeconds(nextInterval(beyond, fix, at: now))
    wantedAt = now + interval
    return event
  }

  /// Makes the stored times earlier by the duration of a suspension, so that the next fix may count as late, and the
  /// last fix is older.
  mutating func goBack(by slept: Duration) {
    crossing = nil
    wantedAt.moveBack(by: slept)
    status.since.moveBack(by: slept)
    status.fix?.at.moveBack(by: slept)
  }

  /// Checks whether a fix is late.
  mutating func lookForLate(at now: MonotonicInstant) -> FenceStatus.Event? {
    guard let blindAt, now >= blindAt else { return nil }
    crossing = nil
    return change(to: .unknown, .lost, at: now)
  }

  /// The distance beyond the edge, metres; `nil` if the fix is too uncertain.
  private func usable(_ fix: FenceFix) -> Double? {
    let beyond = settings.area.metresBeyond(fix.place)
    let radius = Confidence.radial * fix.sigmaMetres
    return beyond.isFinite && (radius <= settings.accuracyMetres || radius < abs(beyond)) ? beyond : nil
  }

  private mutating func judge(_ beyond: Double, _ fix: FenceFix, at now: MonotonicInstant) -> FenceStatus.Event? {
    let seen: Side = beyond > 0 ? .outside : .inside
    if seen == side {
      crossing = nil
      return status.state == seen ? nil : change(to: seen, .found, at: now)
    }
    var present = crossing ?? Crossing(since: fix.at)
    present.sureCount = abs(beyond) > Confidence.radial * fix.sigmaMetres ? present.sureCount + 1 : 0
    guard present.sureCount >= 2 || fix.at - present.since >= settings.grace else {
      crossing = present
      return nil
    }
    crossing = nil
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
    if crossing != nil { return settings.grace / FenceRule.fixesInGrace }
    let margin = max(0, abs(beyond) - Confidence.radial * fix.sigmaMetres)
    let speed = max(settings.speedMetresPerSecond, fix.speedMetresPerSecond ?? 0)
    // A fix that comes early is delivered only when it is due, and the board may have moved in the meantime.
    let age = fix.isStill ? 0 : max(0, now.seconds(since: fix.at))
    let seconds = min(margin / speed + settings.grace.inSeconds / 2 - age, settings.every.inSeconds)
    return .nanoseconds(Int64(max(0, seconds) * 1e9))
  }

  private static func wholeSeconds(_ duration: Duration) -> Duration {
    max(leastInterval, .seconds(duration.components.seconds))
  }
}
