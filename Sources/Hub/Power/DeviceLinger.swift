import MonotonicTime
import Publishing

/// The time for which one device lingers after its last visitor, or between two scheduled fixes.
struct DeviceLinger: Sendable {
  /// What that is decided by, as of the moment.
  struct Grounds {
    var policy: PowerPolicy
    var learned: LearnedLinger
    var costs: LearnedLinger.Costs
    /// Since when its reader has required the supply, if it does.
    var requiredSince: MonotonicInstant?

    /// The learnt value, if it applies.
    fileprivate var decision: LearnedLinger.Decision? {
      guard policy.lingersAsLearned, case let decision = learned.decide(costs), decision.ground != .nothingToSave else {
        return nil
      }
      return decision
    }

    /// After visitors that come and leave at any time.
    fileprivate func usual(_ decision: LearnedLinger.Decision?) -> Linger {
      decision.map { Linger(.nanoseconds(Int64($0.seconds * 1e9)), reason: $0.reason) } ?? Linger(policy.linger)
    }

    /// The time for which staying on costs less than a restart. The cost of a restart is unknown before the first one:
    /// a device with an assumed high cost would stay on for ever, and never show its real cost.
    fileprivate var breakEvenSeconds: Double {
      guard let restart = learned.restarts[.hot] else { return 0 }
      let decision = learned.decide(costs)
      // If its power is unknown, a start still costs time.
      return decision.ground == .nothingToSave ? restart.seconds : decision.breakEvenSeconds
    }
  }

  /// The maximum delay of a timer.
  private static let wakeMargin = 1.0
  /// It stays on from wake to wake for the time that this number of restarts takes, and then sleeps once.
  private static let stayedRestarts = 64.0

  /// The next scheduled wake, if it is known.
  var nextWake: MonotonicInstant?
  /// It is to linger in another way than was decided when it was left.
  var isNews = false
  /// While it lingers for that wake: until when it would without.
  private var anywayUntil: MonotonicInstant?
  /// The start of its present or last linger; `nil` if the last visitor was a schedule.
  private var since: MonotonicInstant?

  /// The machine was suspended.
  mutating func goBack(by slept: Duration) {
    nextWake?.moveBack(by: slept)
    anywayUntil?.moveBack(by: slept)
    since?.moveBack(by: slept)
  }

  /// Until the next wake on a schedule, seconds.
  func gap(at now: MonotonicInstant) -> Double? { nextWake.map { max(0, $0.seconds(since: now)) } }

  /// The last one leaves it.
  ///
  /// - Parameter isScheduled: on a schedule
  mutating func left(
    at now: MonotonicInstant, isScheduled: Bool, by grounds: Grounds, _ lessons: inout PowerLessons
  ) -> Linger {
    let decision = grounds.decision
    let usual = isScheduled ? behindFix(at: now) : grounds.usual(decision)
    isNews = false
    since = isScheduled ? nil : now
    if !(isScheduled && isToBeStartedAnew(at: now, by: grounds)), let linger = untilWake(at: now, by: grounds) {
      lessons.forgetGap()
      anywayUntil = now + usual.duration
      return linger
    }
    anywayUntil = nil
    if isScheduled {
      lessons.forgetGap()
    } else {
      lessons.left(at: now, lingering: decision?.seconds)
    }
    return usual
  }

  /// The next scheduled wake has changed or was cancelled, or its owner has changed its linger.
  ///
  /// - Returns: the linger from now on; `nil` if it does not change
  mutating func reconsidered(
    at now: MonotonicInstant, by grounds: Grounds, _ lessons: inout PowerLessons
  ) -> Linger? {
    if let linger = renewed(at: now, by: grounds, &lessons) { return linger }
    guard let anyway = anywayUntil else { return nil }
    if let linger = untilWake(at: now, by: grounds) { return linger }
    anywayUntil = nil
    return Linger(max(.zero, anyway - now), reason: behindFix(at: now).reason)
  }

  /// From now on, as if it had been left under the present policy; `nil` where that changes nothing, or it lingers for its next wake.
  private mutating func renewed(
    at now: MonotonicInstant, by grounds: Grounds, _ lessons: inout PowerLessons
  ) -> Linger? {
    defer { isNews = false }
    guard isNews, let since else { return nil }
    let decision = grounds.decision
    let usual = grounds.usual(decision)
    if anywayUntil != nil {
      anywayUntil = since + usual.duration
      return nil
    }
    lessons.left(at: since, lingering: decision?.seconds)
    return Linger(
      max(.zero, since + usual.duration - now),
      reason: usual.reason ?? "the board file sets a linger of \(usual.duration.inSeconds.short) s now")
  }

  /// The next wake is known, and staying on until then costs less than a restart.
  private func untilWake(at now: MonotonicInstant, by grounds: Grounds) -> Linger? {
    guard let gap = gap(at: now), case let breakEven = grounds.breakEvenSeconds, gap <= breakEven else { return nil }
    return Linger(
      .nanoseconds(Int64((gap + DeviceLinger.wakeMargin) * 1e9)),
      reason: "its next scheduled fix was \(gap.short) s away, and a restart costs as much as \(breakEven.short) s")
  }

  /// After a scheduled visit, only the next wake matters.
  private func behindFix(at now: MonotonicInstant) -> Linger {
    Linger(
      .zero,
      reason: gap(at: now).map { "its next scheduled fix was \($0.short) s away" }
        ?? "no fix on a schedule needs it")
  }

  /// It has stayed on for long because a restart costs more, which may have changed: a device that is never restarted
  /// does not show it. This restart is only tried if there is time for it before the next fix is due.
  private func isToBeStartedAnew(at now: MonotonicInstant, by grounds: Grounds) -> Bool {
    guard let since = grounds.requiredSince, let gap = gap(at: now), gap > DeviceLinger.wakeMargin else {
      return false
    }
    return now.seconds(since: since) > DeviceLinger.stayedRestarts * grounds.breakEvenSeconds
  }
}
