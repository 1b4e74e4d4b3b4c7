import MonotonicTime
import Publishing

/// For how long one device lingers behind its last visitor, or from one fix on a schedule to the next.
struct DeviceLinger: Sendable {
  /// What that is decided by, as of the moment.
  struct Grounds {
    var policy: PowerPolicy
    var learned: LearnedLinger
    var costs: LearnedLinger.Costs
    /// Since when its reader has required the supply, if it does.
    var requiredSince: MonotonicInstant?

    /// What was learnt, where that is what counts.
    fileprivate var decision: LearnedLinger.Decision? {
      guard policy.lingersAsLearned, case let decision = learned.decide(costs), decision.ground != .nothingToSave else {
        return nil
      }
      return decision
    }

    /// Behind whoever comes and leaves when he likes.
    fileprivate func usual(_ decision: LearnedLinger.Decision?) -> Linger {
      decision.map { Linger(.nanoseconds(Int64($0.seconds * 1e9)), reason: $0.reason) } ?? Linger(policy.linger)
    }

    /// For how long staying on costs less than a restart. What a restart costs is not known before there was one: who took it for a
    /// dear one would stay on for ever, and never know.
    fileprivate var breakEvenSeconds: Double {
      guard let restart = learned.restarts[.hot] else { return 0 }
      let decision = learned.decide(costs)
      // Where nobody knows what it draws a start is still time.
      return decision.ground == .nothingToSave ? restart.seconds : decision.breakEvenSeconds
    }
  }

  /// A timer may be so late.
  private static let wakeMargin = 1.0
  /// For as long as so many restarts take it stays on from wake to wake, and then sleeps once.
  private static let stayedRestarts = 64.0

  /// When it will be woken on a schedule, as far as that is known.
  var nextWake: MonotonicInstant?
  /// It is to linger in another way than was decided when it was left.
  var isNews = false
  /// While it lingers for that wake: until when it would without.
  private var anywayUntil: MonotonicInstant?
  /// Since when it lingers, or has lingered last; `nil` where that was left on a schedule.
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

  /// The next wake on a schedule is at another time, or nobody wants it any more; or its owner has it linger in another way.
  ///
  /// - Returns: from now on; `nil` where that changes nothing
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
      reason: usual.reason ?? "the board file has it linger for \(usual.duration.inSeconds.short) s now")
  }

  /// The next wake is known, and staying on until then costs less than a restart.
  private func untilWake(at now: MonotonicInstant, by grounds: Grounds) -> Linger? {
    guard let gap = gap(at: now), case let breakEven = grounds.breakEvenSeconds, gap <= breakEven else { return nil }
    return Linger(
      .nanoseconds(Int64((gap + DeviceLinger.wakeMargin) * 1e9)),
      reason: "the next fix on a schedule has it woken in \(gap.short) s, and a restart costs as much as "
        + "\(breakEven.short) s")
  }

  /// Whoever leaves on a schedule leaves nothing to wait for but the next wake.
  private func behindFix(at now: MonotonicInstant) -> Linger {
    Linger(
      .zero,
      reason: gap(at: now).map { "the next fix on a schedule has it woken in \($0.short) s" }
        ?? "no fix on a schedule needs it")
  }

  /// It has stayed on for so long, as a restart costs more, that this may be so no longer: what is never started again shows nothing of
  /// that. Only where there is time for a start before the next fix is due.
  private func isToBeStartedAnew(at now: MonotonicInstant, by grounds: Grounds) -> Bool {
    guard let since = grounds.requiredSince, let gap = gap(at: now), gap > DeviceLinger.wakeMargin else {
      return false
    }
    return now.seconds(since: since) > DeviceLinger.stayedRestarts * grounds.breakEvenSeconds
  }
}
