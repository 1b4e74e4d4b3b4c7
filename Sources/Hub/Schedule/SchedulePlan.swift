import MonotonicTime

/// Decides when devices are woken for clients with scheduled fixes. Each method takes an event and returns actions.
/// The lock, the clock and the leases belong to the caller.
///
/// A client has its first fix at once, and then one at every multiple of its interval since the clock's beginning.
/// Clients with the same interval, or a multiple of it, are therefore due at the same time and share a wake.
///
/// A device is woken before a fix is due, also for clients that are due slightly later. An early good fix releases the
/// device, and is held until it is due, unless the client takes it early. If other clients keep the device awake, a
/// fresher fix replaces it. A client whose fix is due somewhat later is included as well, which saves a start, and gets
/// its fix early.
///
/// While the board does not move, no device is woken, and the last fix is repeated. A client that accepts a known fix
/// gets it if it is fresh enough.
package struct SchedulePlan: Sendable {
  package typealias ID = Int
  package typealias Lead = (Schedule, _ due: MonotonicInstant) -> Duration

  package enum Effect: Equatable, Sendable {
    /// Keep this fix for the client, in place of the previous one.
    case keep(ID)
    /// Deliver the fix that was kept last. It is as good as requested, or time ran out.
    case deliver(ID, due: MonotonicInstant, isMet: Bool)
    /// The client has a good enough fix, or none came in time. The caller can learn from the time that this took.
    case settled(ID)
    /// Deliver the client's last fix again.
    case again(ID, due: MonotonicInstant)
  }

  enum Phase: Equatable, Sendable {
    /// The client waits until it is time to wake.
    case asleep
    case awake(since: MonotonicInstant)
    /// The client's fix waits for its due time.
    case holding(isMet: Bool)
  }

  private struct Member {
    var id: ID
    var schedule: Schedule
    var due: MonotonicInstant
    var phase = Phase.asleep
    /// The time of the last fix in this wake.
    var lastFixAt: MonotonicInstant?
    var fixCount = 0
    /// Whether a good enough fix is kept.
    var isGood = false
    /// Whether the client is awake only because other clients are. Its fix must not become old before it is due.
    var comesAlong = false

    /// The due time of a fix that was delivered early. The device rests until then at least. Otherwise a client with
    /// short intervals would keep a device on whose starts are assumed to be long, and their length would never be
    /// learned.
    var restsUntil: MonotonicInstant?

    /// The time until which the client's last fix is as good as a new one.
    var standsUntil: MonotonicInstant?

    var search = SearchPause()

    /// Whether the client's next fix will repeat its previous one, because the board has not moved.
    var stands: Bool { phase == .asleep && standsUntil.map { due <= $0 } ?? false }

    var isAwake: Bool { if case .awake = phase { true } else { false } }

    /// A due or wake time, which is not before the end of a pause of the search.
    func afterPause(_ time: MonotonicInstant) -> MonotonicInstant { search.until.map { max($0, time) } ?? time }

    /// Searches from the beginning, at once if the search pauses.
    mutating func searchAnew(at now: MonotonicInstant) {
      if search.until != nil { (due, restsUntil) = (min(now, due), nil) }
      search = SearchPause()
    }

    /// The due time, limited for an interval that needs stillness. Such an interval ends when the last fix is no longer
    /// good enough. If it were longer, even by a rounding error, the plan would require a new fix at once.
    func limited(_ due: MonotonicInstant, at now: MonotonicInstant) -> MonotonicInstant {
      guard schedule.needsStillness, let standsUntil, standsUntil > now + .seconds(1) else { return due }
      return min(standsUntil, due)
    }

    /// The end of the client's wake: when a good fix is due. Without a good fix, it is the time limit, but not before
    /// the fix is due.
    var deadline: MonotonicInstant? {
      guard case .awake(let since) = phase else { return nil }
      if isGood { return due }
      let isSearch = schedule.pausesSearch && fixCount == 0
      return max(since + (isSearch ? min(schedule.within, search.remaining) : schedule.within), due)
    }
  }

  /// The minimum number of fixes in a start. The first one is inaccurate, whatever error it states.
  static let leastFixes = 2

  /// The members in the order of their arrival.
  private var members: [Member] = []
  /// The difference between the monotonic clock and the clock of the schedule. Fixes are due at multiples of their
  /// interval by the clock of the schedule, which is UTC, or the monotonic clock plus the time for which the machine
  /// was suspended. Without the difference, a fix would come early after each sleep of the machine.
  private var offset = Duration.zero
  /// The due time of a fix for which the machine was woken. New clients whose interval it suits get their first fix at
  /// that time.
  private var takenUp: MonotonicInstant?

  package init() {}

  var isEmpty: Bool { members.isEmpty }

  /// The clients for which the devices should be awake, in the order of their arrival.
  package var awake: [ID] { members.compactMap { $0.isAwake ? $0.id : nil } }

  /// The time of a client's next fix.
  func due(of id: ID) -> MonotonicInstant? { index(of: id).map { members[$0].due } }

  func phase(of id: ID) -> Phase? { index(of: id).map { members[$0].phase } }

  func schedule(of id: ID) -> Schedule? { index(of: id).map { members[$0].schedule } }

  /// The degraded form of a client's request; `nil` if it is not degraded.
  func degraded(_ id: ID, _ asked: Schedule) -> Schedule? { schedule(of: id).flatMap { $0 == asked ? nil : $0 } }

  /// The index of a client. This is a binary search, because each fix looks up every client.
  private func index(of id: ID) -> Int? {
    var range = members.indices
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if members[middle].id == id { return middle }
      range = members[middle].id < id ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return nil
  }

  /// - Parameter id: greater than all earlier IDs
  package mutating func add(_ id: ID, _ schedule: Schedule, at now: MonotonicInstant) {
    members.append(Member(id: id, schedule: schedule, due: firstDue(of: schedule, at: now)))
  }

  /// Makes fixes due at multiples of their interval in UTC, so that the next run of the hub continues the schedule.
  ///
  /// - Parameters:
  ///   - offset: the difference between the clock and UTC
  ///   - due: the due time of the fix for which the machine was woken; `nil` if it woke for another reason
  mutating func takeUp(offset: Duration, due: MonotonicInstant?, at now: MonotonicInstant) {
    self.offset = offset
    takenUp = due
    for index in members.indices where members[index].phase == .asleep && members[index].due > now {
      let schedule = members[index].schedule
      let previous = members[index].due.advanced(by: .zero - schedule.every)
      let due = members[index].limited(next(after: max(now, previous), of: schedule), at: now)
      members[index].due = members[index].afterPause(due)
    }
  }

  /// The due time of a client's first fix: now, unless the machine was woken for a fix that is due soon.
  private func firstDue(of schedule: Schedule, at now: MonotonicInstant) -> MonotonicInstant {
    guard let takenUp, takenUp > now else { return now }
    let next = next(after: now.advanced(by: .zero - schedule.slack), of: schedule)
    return abs((next - takenUp).inSeconds) <= 1 ? next : now
  }

  /// Changes a client's schedule. The next fix is due one interval of the new schedule from now.
  package mutating func change(_ id: ID, to schedule: Schedule, at now: MonotonicInstant) {
    guard let index = index(of: id), members[index].schedule != schedule else { return }
    members[index].schedule = schedule
    if !schedule.pausesSearch { members[index].search = SearchPause() }
    (members[index].due, members[index].phase) = (members[index].afterPause(now + schedule.every), .asleep)
  }

  /// Changes a client's schedule to a degraded one. The interval applies from the next fix on, and the accuracy at
  /// once.
  mutating func degrade(_ id: ID, to schedule: Schedule) {
    if let index = index(of: id) { members[index].schedule = schedule }
  }

  mutating func remove(_ id: ID) { members.removeAll { $0.id == id } }

  /// Whether a good enough fix is kept for a client.
  func hasGoodFix(_ id: ID) -> Bool {
    guard let member = index(of: id).map({ members[$0] }) else { return false }
    return member.isAwake && member.isGood || member.phase == .holding(isMet: true)
  }

  /// Sets the time until which a client's last fix is as good as a new one, if the board does not move; `nil` if a new
  /// fix is needed.
  mutating func stand(_ id: ID, until instant: MonotonicInstant?, at now: MonotonicInstant) {
    guard let index = index(of: id) else { return }
    members[index].standsUntil = instant
    members[index].due = members[index].limited(members[index].due, at: now)
  }

  /// Whether the client's next fix will repeat its previous one, because the board has not moved.
  func stands(_ id: ID) -> Bool { index(of: id).map { members[$0].stands } ?? false }

  /// Records that the board has moved. A client whose next fix would have repeated the last one gets a new fix at
  /// once, and the pauses of a search become short.
  mutating func move(_ id: ID, at now: MonotonicInstant) {
    guard let index = index(of: id) else { return }
    let pauseEnd = members[index].search.until
    members[index].search.move(at: now)
    if members[index].due == pauseEnd { members[index].due = members[index].search.until ?? now }
    guard members[index].stands else { return }
    members[index].due = min(now, members[index].due)
    (members[index].standsUntil, members[index].restsUntil) = (nil, nil)
  }

  /// Whether a client pauses its search, so that any fix is of interest.
  var isSearchPaused: Bool { members.contains { $0.search.until != nil } }

  /// When a client that pauses its search has searched first, and when it searches again; `nil` if it does not pause.
  func pause(of id: ID) -> (since: MonotonicInstant, end: MonotonicInstant)? {
    guard let member = index(of: id).map({ members[$0] }), let end = member.search.until,
      let since = member.search.since
    else { return nil }
    return (since, max(end, member.due))
  }

  /// Searches from the beginning for all clients, because there are other receivers.
  mutating func searchAnew(at now: MonotonicInstant) {
    for index in members.indices { members[index].searchAnew(at: now) }
  }

  /// Ends the pauses of searches that began before an instant at which there was reception, or at which a receiver was
  /// plugged in. A search in progress goes on, because its own wake may have made the receiver appear.
  mutating func endPauses(by instant: MonotonicInstant, at now: MonotonicInstant) {
    for index in members.indices where members[index].search.isEnded(by: instant) {
      members[index].searchAnew(at: now)
    }
  }

  /// Makes due times earlier by the duration of a suspension. A fix that became due during the suspension is due now,
  /// and kept fixes are outdated.
  mutating func resume(after slept: Duration, at now: MonotonicInstant) {
    offset += slept
    takenUp = nil
    for index in members.indices {
      members[index].due.moveBack(by: slept)
      members[index].due = max(now, members[index].due)
      members[index].search.resume(after: slept, at: now)
      (members[index].phase, members[index].standsUntil, members[index].restsUntil) = (.asleep, nil, nil)
    }
  }

  /// Processes a fix. It also ends pauses of searches.
  ///
  /// - Parameters:
  ///   - fix: the time of the fix
  ///   - radiusMetres: the radius that contains the true position with a probability of 95 %; `nil` if unknown
  ///   - isHeldByOthers: whether the devices are awake for other holders too, and stay on when these clients release
  ///     them
  package mutating func receive(
    fix: MonotonicInstant, radiusMetres: Double?, isHeldByOthers: Bool, at now: MonotonicInstant
  ) -> [Effect] {
    endPauses(by: fix, at: now)
    var effects: [Effect] = []
    for index in members.indices {
      guard case .awake(let since) = members[index].phase, fix >= since, members[index].lastFixAt != fix else {
        continue
      }
      members[index].lastFixAt = fix
      members[index].fixCount += 1
      members[index].search = SearchPause()
      let suits = members[index].schedule.accuracyMetres.map { limit in radiusMetres.map { $0 <= limit } ?? false }
      let isGood = suits ?? true && members[index].fixCount >= SchedulePlan.leastFixes
      // A client with a good fix ignores worse ones.
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

  /// Returns the due actions.
  ///
  /// - Parameter lead: the time between the wake of a device and the due time of a fix
  package mutating func advance(to now: MonotonicInstant, lead: Lead) -> [Effect] {
    var effects: [Effect] = []
    for index in members.indices {
      if let deadline = members[index].deadline, deadline <= now {
        if !members[index].isGood { effects.append(.settled(members[index].id)) }
        if members[index].schedule.pausesSearch, members[index].fixCount == 0,
          case .awake(let since) = members[index].phase
        {
          members[index].search.fail(since: since, at: now)
        }
        members[index].phase = .holding(isMet: members[index].isGood)
      }
      if case .holding(let isMet) = members[index].phase, members[index].due <= now || comesEarly(index, isMet) {
        effects.append(.deliver(members[index].id, due: members[index].due, isMet: isMet))
        members[index].restsUntil = members[index].comesAlong ? nil : members[index].due
        members[index].phase = .asleep
        members[index].due = nextDue(of: members[index], at: now)
      }
    }
    for index in members.indices where members[index].stands && members[index].due <= now {
      effects.append(.again(members[index].id, due: members[index].due))
      members[index].search = SearchPause()
      members[index].due = nextDue(of: members[index], at: now)
    }
    for index in members.indices where members[index].phase == .asleep && !members[index].stands {
      if members[index].schedule.needsStillness, members[index].search.until == nil {
        (members[index].due, members[index].restsUntil) = (min(now, members[index].due), nil)
      }
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

  private func comesEarly(_ index: Int, _ isMet: Bool) -> Bool {
    isMet && (members[index].comesAlong || members[index].schedule.takesEarlyFix)
  }

  /// The time at which `advance` must be called next; `nil` without clients.
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
        let due = nextDue(of: member, at: now)
        if let standsUntil = member.standsUntil, due <= standsUntil { return nil }
        // The wake cannot be before the present fix is delivered.
        return member.afterPause(max(member.due, wakeTime(due: due, member.schedule, lead)))
      }
    }.min()
  }

  /// The first wake of devices, if the machine sleeps until then. After the sleep, no fix from before it is repeated,
  /// so clients of a board that has not moved need a wake too. `nil` without clients.
  func firstWake(lead: Lead) -> (id: ID, wake: MonotonicInstant, due: MonotonicInstant)? {
    members.map { (id: $0.id, wake: wakeTime(of: $0, lead), due: $0.due) }.min { $0.wake < $1.wake }
  }

  /// Whether a client waits for a fix, or a fix for its due time.
  var isUnderWay: Bool { members.contains { $0.phase != .asleep } }

  /// The wake of a client's devices for its next fix.
  func wakeTime(of id: ID, lead: Lead) -> MonotonicInstant? {
    index(of: id).map { wakeTime(of: members[$0], lead) }
  }

  private mutating func wake(_ index: Int, at now: MonotonicInstant) {
    members[index].phase = .awake(since: now)
    (members[index].lastFixAt, members[index].fixCount, members[index].isGood) = (nil, 0, false)
    members[index].comesAlong = false
    members[index].search.end()
  }

  private func wakeTime(of member: Member, _ lead: Lead) -> MonotonicInstant {
    let wake = wakeTime(due: member.due, member.schedule, lead)
    return member.afterPause(member.restsUntil.map { max($0, wake) } ?? wake)
  }

  /// The wake time, but no earlier than the fix's time limit allows.
  private func wakeTime(due: MonotonicInstant, _ schedule: Schedule, _ lead: Lead) -> MonotonicInstant {
    due.advanced(by: .zero - max(.zero, min(lead(schedule, due), schedule.within)))
  }

  /// The due time after the present one.
  private func nextDue(of member: Member, at now: MonotonicInstant) -> MonotonicInstant {
    member.afterPause(member.limited(next(after: max(now, member.due), of: member.schedule), at: now))
  }

  /// The first multiple of the interval that is further in the future than the slack.
  private func next(after now: MonotonicInstant, of schedule: Schedule) -> MonotonicInstant {
    let every = max(1, schedule.every.inNanoseconds)
    let offset = offset.inNanoseconds
    let from = (now + schedule.slack).nanoseconds + offset
    return MonotonicInstant(nanoseconds: (from / every + 1) * every - offset)
  }
}
