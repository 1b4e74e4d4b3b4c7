import MonotonicTime

/// Decides when devices are woken for those who want a fix now and then. It only decides: each method takes what has happened and
/// returns what to do; the lock, the clock and the leases are somebody else's.
///
/// Each has a first fix at once, and from there on one at every multiple of its pace since the clock's beginning: who has the same
/// pace, or a multiple of it, is due at the same time and shares a wake, whenever they came. A device is woken before a fix is due;
/// who is due nearly then is woken too. A fix that is good early lets the device go, and is held until it is due, unless the
/// device is awake for others anyway: then a fresher one takes its place. Whose fix is due a while later comes along as well, which
/// saves it a start, and gets its fix before its time. While nothing moves nobody is woken, and the last fix is handed on again; so
/// is the last known fix to those for whom it is fresh enough.
struct SchedulePlan: Sendable {
  typealias ID = Int
  typealias Lead = (Schedule, _ due: MonotonicInstant) -> Duration

  enum Effect: Equatable, Sendable {
    /// Keep this fix for it, in place of the one before.
    case keep(ID)
    /// Hand on the fix that was kept last; it is as good as was asked for, or time ran out.
    case deliver(ID, due: MonotonicInstant, isMet: Bool)
    /// A fix is good enough for it, or none was in time: the time that this took.
    case settled(ID)
    /// Hand on its last fix again.
    case again(ID, due: MonotonicInstant)
  }

  enum Phase: Equatable, Sendable {
    /// Until it is time to wake.
    case asleep
    case awake(since: MonotonicInstant)
    /// Its fix waits for its time.
    case holding(isMet: Bool)
  }

  private struct Member {
    var id: ID
    var schedule: Schedule
    var due: MonotonicInstant
    var phase = Phase.asleep
    /// When the last fix was valid that came in this wake.
    var lastFixAt: MonotonicInstant?
    var fixCount = 0
    /// A fix that is good enough is kept.
    var isGood = false
    /// It is awake only because others are, and its fix is not to grow old until it is due.
    var comesAlong = false

    /// Up to then its last fix is as good as a new one.
    var standsUntil: MonotonicInstant?

    /// It waits for its next time, and needs no device for that.
    var stands: Bool { phase == .asleep && standsUntil.map { due <= $0 } ?? false }

    var isAwake: Bool { if case .awake = phase { true } else { false } }

    /// The end of its wake, with or without a good fix: the time allowed for its fix, which ends after the due time if
    /// it was woken then.
    var deadline: MonotonicInstant? {
      guard case .awake(let since) = phase else { return nil }
      return isGood ? due : max(since + schedule.within, due)
    }
  }

  /// The first fix after a start is a poor one, whatever its stated error.
  static let leastFixes = 2

  /// In the order in which they came.
  private var members: [Member] = []

  var isEmpty: Bool { members.isEmpty }

  /// The clients for which the devices should be awake, in the order of their arrival.
  var awake: [ID] { members.compactMap { $0.isAwake ? $0.id : nil } }

  /// The time of a client's next fix.
  func due(of id: ID) -> MonotonicInstant? { index(of: id).map { members[$0].due } }

  func phase(of id: ID) -> Phase? { index(of: id).map { members[$0].phase } }

  func schedule(of id: ID) -> Schedule? { index(of: id).map { members[$0].schedule } }

  /// The relaxed form of a client's request; `nil` if it is not relaxed.
  func relaxed(_ id: ID, _ asked: Schedule) -> Schedule? { schedule(of: id).flatMap { $0 == asked ? nil : $0 } }

  /// By halves: each of many is asked for with each fix.
  private func index(of id: ID) -> Int? {
    var range = members.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if members[middle].id == id { return middle }
      range = members[middle].id < id ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return nil
  }

  /// - Parameter id: greater than all before it
  mutating func add(_ id: ID, _ schedule: Schedule, at now: MonotonicInstant) {
    members.append(Member(id: id, schedule: schedule, due: now))
  }

  /// The next fix is due one interval of the new schedule from now, whatever was due before.
  mutating func change(_ id: ID, to schedule: Schedule, at now: MonotonicInstant) {
    guard let index = index(of: id), members[index].schedule != schedule else { return }
    (members[index].schedule, members[index].due, members[index].phase) = (schedule, now + schedule.every, .asleep)
  }

  /// The schedule applies from its next fix on, and the present wake may already end with that accuracy.
  mutating func relax(_ id: ID, to schedule: Schedule) {
    if let index = index(of: id) { members[index].schedule = schedule }
  }

  mutating func remove(_ id: ID) { members.removeAll { $0.id == id } }

  /// Whether the last stored fix can be given to a client.
  func hasGoodFix(_ id: ID) -> Bool {
    guard let member = index(of: id).map({ members[$0] }) else { return false }
    return member.isAwake && member.isGood || member.phase == .holding(isMet: true)
  }

  /// Without motion: up to an instant a client's last fix is as good as a new one; `nil` if it is not.
  mutating func stand(_ id: ID, until instant: MonotonicInstant?) {
    if let index = index(of: id) { members[index].standsUntil = instant }
  }

  /// Whether a client's next fix will be the last one again.
  func stands(_ id: ID) -> Bool { index(of: id).map { members[$0].stands } ?? false }

  /// The board has moved: clients that would have been given the last fix again get a new one at once.
  mutating func move(_ id: ID, at now: MonotonicInstant) {
    guard let index = index(of: id), members[index].stands else { return }
    members[index].due = min(now, members[index].due)
    members[index].standsUntil = nil
  }

  /// The machine was suspended. A fix that became due in the meantime is due now, and what was kept for one is not of now.
  mutating func resume(after slept: Duration, at now: MonotonicInstant) {
    for index in members.indices {
      members[index].due.moveBack(by: slept)
      members[index].due = max(now, members[index].due)
      (members[index].phase, members[index].standsUntil) = (.asleep, nil)
    }
  }

  /// A fix has come while devices are awake.
  ///
  /// - Parameters:
  ///   - fix: the time of its validity
  ///   - radiusMetres: within which 95 % of such positions are; `nil` if unknown
  ///   - isHeldByOthers: whether the devices are awake for other holders too, and stay on when these clients release
  ///     them
  mutating func receive(
    fix: MonotonicInstant, radiusMetres: Double?, isHeldByOthers: Bool, at now: MonotonicInstant
  ) -> [Effect] {
    var effects: [Effect] = []
    for index in members.indices {
      guard case .awake(let since) = members[index].phase, fix >= since, members[index].lastFixAt != fix else {
        continue
      }
      members[index].lastFixAt = fix
      members[index].fixCount += 1
      let suits = members[index].schedule.accuracyMetres.map { limit in radiusMetres.map { $0 <= limit } ?? false }
      let isGood = suits ?? true && members[index].fixCount >= SchedulePlan.leastFixes
      // A client with a good fix takes no worse one.
      guard isGood || !members[index].isGood else { continue }
      if isGood, !members[index].isGood { effects.append(.settled(members[index].id)) }
      members[index].isGood = isGood
      effects.append(.keep(members[index].id))
    }
    let isNeeded = isHeldByOthers || members.contains { $0.isAwake && !$0.isGood }
    for index in members.indices where members[index].isAwake && members[index].isGood && !isNeeded {
      members[index].phase = .holding(isMet: true)
    }
    return effects
  }

  /// The actions that are due by now.
  ///
  /// - Parameter lead: the time between the wake of a device and the fix that is due
  mutating func advance(to now: MonotonicInstant, lead: Lead) -> [Effect] {
    var effects: [Effect] = []
    for index in members.indices {
      if let deadline = members[index].deadline, deadline <= now {
        if !members[index].isGood { effects.append(.settled(members[index].id)) }
        members[index].phase = .holding(isMet: members[index].isGood)
      }
      if case .holding(let isMet) = members[index].phase, members[index].due <= now || comesEarly(index, isMet) {
        effects.append(.deliver(members[index].id, due: members[index].due, isMet: isMet))
        members[index].phase = .asleep
        members[index].due = SchedulePlan.next(after: max(now, members[index].due), of: members[index].schedule)
      }
    }
    for index in members.indices where members[index].stands && members[index].due <= now {
      effects.append(.again(members[index].id, due: members[index].due))
      members[index].due = SchedulePlan.next(after: now, of: members[index].schedule)
    }
    for index in members.indices where members[index].phase == .asleep && !members[index].stands {
      if wakeTime(of: members[index], lead) <= now { wake(index, at: now) }
    }
    // Clients that are due shortly after another one share its wake.
    let earliest = members.filter(\.isAwake).map(\.due).min()
    for index in members.indices where members[index].phase == .asleep && !members[index].stands {
      guard let earliest else { break }
      let isSoon = members[index].due <= earliest + members[index].schedule.slack
      guard isSoon || members[index].due <= now + members[index].schedule.advance else { continue }
      wake(index, at: now)
      members[index].comesAlong = !isSoon
    }
    return effects
  }

  private func comesEarly(_ index: Int, _ isMet: Bool) -> Bool { members[index].comesAlong && isMet }

  /// The time of the next call of `advance`; `nil` without clients.
  func nextInstant(lead: Lead) -> MonotonicInstant? {
    members.map { member in
      member.deadline ?? (member.phase == .asleep && !member.stands ? wakeTime(of: member, lead) : member.due)
    }.min()
  }

  /// The next wake of devices that are released now; `nil` if there is no further fix.
  func nextWake(at now: MonotonicInstant, lead: Lead) -> MonotonicInstant? {
    members.compactMap { member -> MonotonicInstant? in
      switch member.phase {
      case .asleep: return member.stands ? nil : wakeTime(of: member, lead)
      case .awake: return nil
      case .holding:
        let next = SchedulePlan.next(after: max(now, member.due), of: member.schedule)
        if let standsUntil = member.standsUntil, next <= standsUntil { return nil }
        // Not before its present fix is given.
        return max(member.due, wakeTime(due: next, member.schedule, lead))
      }
    }.min()
  }

  /// The wake of a client's devices for its next fix.
  func wakeTime(of id: ID, lead: Lead) -> MonotonicInstant? {
    index(of: id).map { wakeTime(of: members[$0], lead) }
  }

  private mutating func wake(_ index: Int, at now: MonotonicInstant) {
    members[index].phase = .awake(since: now)
    (members[index].lastFixAt, members[index].fixCount, members[index].isGood) = (nil, 0, false)
    members[index].comesAlong = false
  }

  private func wakeTime(of member: Member, _ lead: Lead) -> MonotonicInstant {
    wakeTime(due: member.due, member.schedule, lead)
  }

  /// No earlier than the fix has time for.
  private func wakeTime(due: MonotonicInstant, _ schedule: Schedule, _ lead: Lead) -> MonotonicInstant {
    due.advanced(by: .zero - max(.zero, min(lead(schedule, due), schedule.within)))
  }

  /// The first at its pace that is still to come, and not as good as now.
  private static func next(after now: MonotonicInstant, of schedule: Schedule) -> MonotonicInstant {
    let every = max(1, schedule.every.inNanoseconds)
    let from = (now + schedule.slack).nanoseconds
    return MonotonicInstant(nanoseconds: (from / every + 1) * every)
  }
}
