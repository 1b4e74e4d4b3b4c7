import MonotonicTime
import Publishing

/// The idle timeout of one device, after its last client or between two scheduled fixes.
struct DeviceIdleTimeout: Sendable {
  /// The present facts on which the idle timeout depends.
  struct Grounds {
    var policy: PowerPolicy
    var learned: LearnedIdleTimeout
    var costs: LearnedIdleTimeout.Costs
    /// When the device's reader began to require the supply; `nil` while it does not.
    var requiredSince: MonotonicInstant?

    /// The learned idle timeout, if it applies.
    fileprivate var decision: LearnedIdleTimeout.Decision? {
      guard policy.learnsIdleTimeout, case let decision = learned.decide(costs), decision.ground != .nothingToSave
      else {
        return nil
      }
      return decision
    }

    /// The idle timeout after clients that come and leave at any time.
    fileprivate func usual(_ decision: LearnedIdleTimeout.Decision?) -> IdleTimeout {
      decision.map { IdleTimeout(.nanoseconds(Int64($0.seconds * 1e9)), reason: $0.reason) }
        ?? IdleTimeout(policy.idleTimeout)
    }

    /// The time, in seconds, for which staying on costs less than a restart; 0 before the first restart, whose cost is
    /// unknown. With an assumed cost instead, a device might stay on for ever, so that its real cost would remain
    /// unknown.
    fileprivate var breakEvenSeconds: Double {
      guard let restart = learned.restarts[.hot] else { return 0 }
      let decision = learned.decide(costs)
      // If the device's power is unknown, a start still costs time.
      return decision.ground == .nothingToSave ? restart.seconds : decision.breakEvenSeconds
    }
  }

  /// A device stays on this much longer than the time to its next wake, in seconds, because the timer of the wake may
  /// be late.
  private static let wakeMargin = 1.0
  /// A device that stays on from wake to wake is restarted on trial after this multiple of the break-even time.
  private static let stayedRestarts = 64.0

  /// The next scheduled wake, if known.
  var nextWake: MonotonicInstant?
  /// Whether the owner's setting of the idle timeout has changed since the last client left.
  var isNews = false
  /// When the device would go off if it did not wait for its next wake.
  private var anywayUntil: MonotonicInstant?
  /// The start of the present or last idle time; `nil` if the last client was a schedule.
  private var since: MonotonicInstant?

  /// Makes the stored times earlier by the duration of a suspension.
  mutating func goBack(by slept: Duration) {
    nextWake?.moveBack(by: slept)
    anywayUntil?.moveBack(by: slept)
    since?.moveBack(by: slept)
  }

  /// The time until the next scheduled wake, seconds.
  func gap(at now: MonotonicInstant) -> Double? { nextWake.map { max(0, $0.seconds(since: now)) } }

  /// Records that the last client leaves the device.
  ///
  /// - Parameter isScheduled: whether the client was a schedule
  /// - Returns: the idle timeout
  mutating func left(
    at now: MonotonicInstant, isScheduled: Bool, by grounds: Grounds, _ usage: inout UsageRecorder
  ) -> IdleTimeout {
    let decision = grounds.decision
    let usual = isScheduled ? afterFix(at: now) : grounds.usual(decision)
    isNews = false
    since = isScheduled ? nil : now
    if !(isScheduled && isTrialRestartDue(at: now, by: grounds)), let idleTimeout = untilWake(at: now, by: grounds) {
      usage.forgetGap()
      anywayUntil = now + usual.duration
      return idleTimeout
    }
    anywayUntil = nil
    if isScheduled {
      usage.forgetGap()
    } else {
      usage.left(at: now, lingering: decision?.seconds)
    }
    return usual
  }

  /// Handles a change or cancellation of the next scheduled wake, or a new setting of the owner.
  ///
  /// - Returns: the idle timeout from now on; `nil` if it does not change
  mutating func reconsidered(
    at now: MonotonicInstant, by grounds: Grounds, _ usage: inout UsageRecorder
  ) -> IdleTimeout? {
    if let idleTimeout = renewed(at: now, by: grounds, &usage) { return idleTimeout }
    guard let anyway = anywayUntil else { return nil }
    if let idleTimeout = untilWake(at: now, by: grounds) { return idleTimeout }
    anywayUntil = nil
    return IdleTimeout(max(.zero, anyway - now), reason: afterFix(at: now).reason)
  }

  /// The idle timeout that the present policy gives for the idle time since the last client left; `nil` if nothing
  /// changes, or if the device waits for its next wake.
  private mutating func renewed(
    at now: MonotonicInstant, by grounds: Grounds, _ usage: inout UsageRecorder
  ) -> IdleTimeout? {
    defer { isNews = false }
    guard isNews, let since else { return nil }
    let decision = grounds.decision
    let usual = grounds.usual(decision)
    if anywayUntil != nil {
      anywayUntil = since + usual.duration
      return nil
    }
    usage.left(at: since, lingering: decision?.seconds)
    return IdleTimeout(
      max(.zero, since + usual.duration - now),
      reason: usual.reason ?? "the board file now sets lingerSeconds: \(usual.duration.inSeconds.short)")
  }

  /// The idle timeout until the next wake, if that is known and staying on costs less than a restart.
  private func untilWake(at now: MonotonicInstant, by grounds: Grounds) -> IdleTimeout? {
    guard let gap = gap(at: now), case let breakEven = grounds.breakEvenSeconds, gap <= breakEven else { return nil }
    return IdleTimeout(
      .nanoseconds(Int64((gap + DeviceIdleTimeout.wakeMargin) * 1e9)),
      reason: "its next scheduled wake was \(gap.short) s away, and a restart costs as much as \(breakEven.short) s")
  }

  /// The idle timeout after a scheduled fix, for which only the next wake matters.
  private func afterFix(at now: MonotonicInstant) -> IdleTimeout {
    IdleTimeout(
      .zero,
      reason: gap(at: now).map { "its next scheduled wake was \($0.short) s away" }
        ?? "no scheduled fix needs it")
  }

  /// Whether to try a restart of a device that has stayed on for long because a restart costs more. The cost of a
  /// restart may have changed, and only another restart shows it. The restart is only tried if there is time before the
  /// next fix is due.
  private func isTrialRestartDue(at now: MonotonicInstant, by grounds: Grounds) -> Bool {
    guard let since = grounds.requiredSince, let gap = gap(at: now), gap > DeviceIdleTimeout.wakeMargin else {
      return false
    }
    return now.seconds(since: since) > DeviceIdleTimeout.stayedRestarts * grounds.breakEvenSeconds
  }
}
