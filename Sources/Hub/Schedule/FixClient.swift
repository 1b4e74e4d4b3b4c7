import Fusion
import MonotonicTime
import Publishing

/// A client with scheduled fixes: its request, and the fixes that it can get.
struct FixClient: Sendable {
  let holders: Holders
  /// The client's own request. The plan contains its degraded form while energy is short.
  private(set) var schedule: Schedule
  /// The fix that the client gets unless a better one comes.
  private(set) var kept: FusedState?
  /// A known fix that is fresh enough for the client's next one, even if it was made for another client.
  private(set) var known: FusedState?
  /// The last good fix that the client got.
  private var last: ReusedFix?
  var motion = ClientMotion()

  init(_ holders: Holders, _ schedule: Schedule) {
    self.holders = holders
    self.schedule = schedule
  }

  /// - Parameter isAsleep: whether the wake is over for the client, so that the kept fix is outdated
  mutating func change(to schedule: Schedule, isAsleep: Bool) {
    self.schedule = schedule
    if isAsleep { kept = nil }
  }

  mutating func keep(_ fix: FusedState?) { kept = fix }

  /// Forgets the fixes after the machine was suspended.
  mutating func resume() { (kept, last) = (nil, nil) }

  /// Decides the time until which the client needs no new fix, because the board has not moved or because the last
  /// known fix is fresh enough.
  ///
  /// - Parameters:
  ///   - schedule: the request in the plan, which may be degraded
  ///   - hasGoodFix: whether the kept fix is good enough
  ///   - lastKnown: the hub's last known state
  ///   - isReceiverAwake: whether a receiver is awake for any holder, so that a new fix costs nothing
  /// - Returns: `nil` if the client needs a new fix
  mutating func stands(
    _ schedule: Schedule, hasGoodFix: Bool, lastKnown: FusedState?, isReceiverAwake: Bool
  ) -> MonotonicInstant? {
    let fix = hasGoodFix ? kept.flatMap(ReusedFix.init) : last
    let until = isReceiverAwake ? nil : motion.repeats(fix, for: schedule)
    known = nil
    // A dead-reckoned position is new, but it is no fix.
    guard let maxAge = schedule.maxAge, let lastKnown,
      let at = lastKnown.mode == .asleep ? lastKnown.position?.at : lastKnown.fixInstant, lastKnown.suits(schedule)
    else { return until }
    let freshUntil = at + maxAge
    guard freshUntil > until ?? at else { return until }
    known = lastKnown
    return freshUntil
  }

  /// Takes the kept fix for delivery, or a state without a position.
  ///
  /// - Parameters:
  ///   - isMet: whether the fix is as good as the plan's request
  ///   - degraded: the degraded form of the request; `nil` if it is not degraded
  mutating func takeFix(
    due: MonotonicInstant, isMet: Bool, degraded: Schedule?, at now: MonotonicInstant
  ) -> RequestedFix {
    var fix = kept ?? FusedState(at: now)
    if isMet { last = ReusedFix(fix) }
    let isStanding = isMet && motion.repeats(last, for: schedule) != nil
    fix.at = max(now, fix.at)
    kept = nil
    return RequestedFix(
      state: fix, schedule: schedule, degraded: degraded, due: due,
      // The held fix may have been good enough only for the degraded request, which no longer applies.
      isMet: isMet && fix.suits(schedule), isStanding: isStanding)
  }

  /// The known fix, or else the last delivered fix again, for delivery; `nil` if the client has neither.
  func fixAgain(due: MonotonicInstant, degraded: Schedule?, at now: MonotonicInstant) -> RequestedFix? {
    if var known {
      known.at = max(now, known.at)
      return RequestedFix(
        state: known, schedule: schedule, degraded: degraded, due: due, isMet: degraded == nil || known.suits(schedule),
        isKnown: true)
    }
    guard let fix = last?.state(at: now) else { return nil }
    return RequestedFix(
      state: fix, schedule: schedule, degraded: degraded, due: due, isMet: degraded == nil || fix.suits(schedule),
      isStill: true, isStanding: true)
  }
}
