import Fusion
import Guarding
import MonotonicTime
import Publishing

/// Keeps receivers awake for scheduled fixes, and asleep in between.
///
/// A change of board does not change the time of any fix.
/// Between two wakes there is one timer. One lease on the receivers covers all clients of a wake and names them, so the
/// receivers' holders change once for all clients and not once for each.
///
/// The plan decides under the lock. One thread at a time carries out the decisions, outside the lock. If other threads
/// change the plan in the meantime, this thread checks again before it ends.
final class FixPlanner: Sendable {
  private typealias ID = SchedulePlan.ID

  private struct Member {
    let holders: Holders
    let run: ActivationContext<RequestedFix, Never>
    /// The client's own request. The plan has the form that the receivers' energy budgets permit.
    var schedule: Schedule
    /// The fix that the client gets unless a better one comes.
    var kept: FusedState?
    /// The last good fix that the client got.
    var last: ReusedFix?
    /// A known fix that is fresh enough for the client's next one, even if it was made for another client.
    var known: FusedState?
    /// The number of the subscription to a motion detector, the subscription, and the detector's last result.
    var watch: Int?
    var motion: Subscription?
    var stillness = MotionState.unknown

    var hasMoved: Bool { if case .moved = stillness { true } else { false } }

    /// Forgets the knowledge about motion.
    mutating func unwatch() -> Subscription? {
      defer { (watch, motion, stillness) = (nil, nil, .unknown) }
      return motion
    }
  }

  private struct Delivery {
    let id: ID
    let run: ActivationContext<RequestedFix, Never>
    let fix: RequestedFix
  }

  private struct Timing: Equatable {
    /// The time of the plan's next action, for which the timer is set.
    var next: MonotonicInstant?
    /// The next wake of sleeping devices, as reported to them.
    var wake: MonotonicInstant?
  }

  private struct State {
    var plan = SchedulePlan()
    var members: [ID: Member] = [:]
    var lastID = 0
    weak var hub: Hub?
    /// The lease on receivers, while they should be awake.
    var lease: Subscription?
    /// The clients that were last reported as awake.
    var awake: [ID] = []
    /// The clients' memberships in the group.
    var memberships: [ID: HolderGroup.Membership] = [:]
    /// The subscription to the states, while devices are awake for any holder.
    var states: Subscription?
    /// The subscriptions of clients that have left.
    var ended: [Subscription] = []
    /// The ended subscriptions to motion.
    var unwatched: [Subscription] = []
    var lastWatch = 0
    var deliveries: [Delivery] = []
    var timer: ScheduledAction?
    var timing = Timing()
    var timerNumber = 0
    var lastFixAt: MonotonicInstant?
    /// The trace of the start in progress.
    var trace: AcquisitionTrace?
    /// Whether a receiver was awake for any holder when an action was last due.
    var isReceiverAwake = false
    var ephemerides = EphemerisCollection()
    /// Whether the receivers are still awake only to collect ephemerides.
    var isCollecting = false
    /// Whether a thread is carrying out decisions.
    var isWorking = false
    var isOver = false
    /// The limits that the energy budgets set on requests.
    var degradation = Degradation.none
  }

  /// The steps that carry out decisions outside the lock.
  private enum Step {
    case deliver([Delivery])
    /// Names the clients for which receivers are awake from now on, and those for which they no longer are.
    case name([(id: ID, holders: Holders)], notAnyMore: [HolderGroup.Membership])
    case listen(Hub)
    case watch(ID, Int, Holders, StillnessMonitor)
    case wake(Hub)
    case release(Subscription, Hub?, nextWake: MonotonicInstant?)
    case end(Subscription)
    case time(Timing, Hub?)
    case finish([Member])
  }

  /// If a board starts moving after it stood still for this long, it gets a new fix at once. A shorter stop is only a
  /// pause, as at a red light or between two waves, and the next fix comes when it is due.
  private static let stand = Duration.seconds(60)

  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())
  /// The holders for which receivers are awake.
  private let group = HolderGroup("fixes")
  private let lifetime = Lifetime()

  init(clock: any MonotonicTimeSource) {
    self.clock = clock
    clock.onResume { [weak self] in self?.resume(after: $0) }.store(in: lifetime)
  }

  /// Whether receivers are awake for scheduled fixes.
  var areUnderWay: Bool { !group.isEmpty }

  // MARK: Clients

  /// The fixes of one subscriber. A subscription wakes receivers at once for the first fix, and later for each further
  /// fix.
  ///
  /// - Parameter schedule: the schedule; after each change the next fix is due one interval later
  func fixes(on schedule: Property<Schedule>) -> Deferred<RequestedFix, Never> {
    Deferred { [self, clock] holders in
      LazyPublisher(deriving: holders.label, clock: clock) { [self] (run) throws(Never) in
        let id = state.withLock { state -> ID? in
          if state.isOver { return nil }
          state.lastID += 1
          let schedule = schedule.value
          state.members[state.lastID] = Member(holders: holders, run: run, schedule: schedule)
          state.plan.add(state.lastID, state.degradation.applied(to: schedule), at: clock.now)
          advance(&state)
          return state.lastID
        }
        guard let id else {
          run.finish(.finished)
          return Subscription {}
        }
        work()
        let changes = schedule.subscribe(as: holders, receiveValue: { [weak self] in self?.change(id, to: $0) })
        return Subscription { [self] in
          changes.cancel()
          remove(id)
        }
      }
    }
  }

  private func change(_ id: ID, to schedule: Schedule) {
    state.withLock { state in
      // The request has not changed, so the due time stays.
      guard state.members[id]?.schedule != schedule else { return }
      // The next due time is computed with the present limits, and not with those of the last fix.
      degrade(&state)
      state.members[id]?.schedule = schedule
      state.plan.change(id, to: state.degradation.applied(to: schedule), at: clock.now)
      // The kept fix is from a wake that is over for the client.
      if state.plan.phase(of: id) == .asleep { state.members[id]?.kept = nil }
      advance(&state)
    }
    work()
  }

  private func remove(_ id: ID) {
    state.withLock { state in
      state.plan.remove(id)
      if let motion = state.members.removeValue(forKey: id)?.motion { state.unwatched.append(motion) }
    }
    work()
  }

  // MARK: The board

  /// Serves the hub's clients from now on.
  func begin(on hub: Hub) { state.withLock { $0.hub = hub } }

  /// Continues with the devices of another board. The leases have moved to them already.
  func boardHasChanged(from old: DeviceRegistry, to new: DeviceRegistry) {
    state.withLock { state in
      // The new devices' monitors have no next wake yet.
      state.timing.wake = nil
      if new.receivers !== old.receivers { state.trace = nil }
      guard new.motion !== old.motion else { return }
      for id in state.members.keys.sorted() {
        if let motion = state.members[id]?.unwatch() { state.unwatched.append(motion) }
      }
    }
    work()
  }

  /// Ends all fixes.
  func end() {
    state.withLock { state in
      state.hub = nil
      state.trace = nil
      endLease(&state, at: clock.now)
      for id in state.members.keys.sorted() {
        if let motion = state.members[id]?.unwatch() { state.unwatched.append(motion) }
      }
      if let states = state.states { state.ended.append(states) }
      state.states = nil
      state.isOver = true
    }
    work()
  }

  // MARK: Events

  private func receive(_ present: FusedState) {
    guard let fix = present.fixInstant else { return }
    let hub = state.withLock { state -> Hub? in
      if state.lastFixAt == fix { return nil }
      state.lastFixAt = fix
      return state.hub
    }
    guard let hub else { return }
    let isHeldByOthers = hub.receiversAreHeld(besidesForFixes: true)
    state.withLock { state in
      let now = clock.now
      let radius = present.radiusMetres
      state.ephemerides.receiveFix(at: now)
      if var trace = state.trace {
        hub.fixHistory?.learnAcquisitions { trace.receive(fix: fix, radiusMetres: radius, at: now, &$0) }
        state.trace = trace
      }
      // Observe motion from now on, so that the next fix may repeat this one.
      if state.members.values.contains(where: \.hasMoved) { hub.registry.value.motion?.look() }
      let effects = state.plan.receive(fix: fix, radiusMetres: radius, isHeldByOthers: isHeldByOthers, at: now)
      perform(effects, keeping: present, at: now, &state)
      advance(&state)
    }
    work()
  }

  private func timerFired(_ number: Int) {
    let isAwake = state.withLock { $0.hub }?.receiversAreHeld(besidesForFixes: false) ?? false
    state.withLock { state in
      guard state.timerNumber == number else { return }
      state.timer = nil
      state.timing.next = nil
      // If a receiver is awake, a new fix costs nothing, with or without motion.
      state.isReceiverAwake = isAwake
      advance(&state)
      state.isReceiverAwake = false
      stand(&state)
    }
    work()
  }

  /// Moves the times back after the machine was suspended.
  private func resume(after slept: Duration) {
    state.withLock { state in
      let now = clock.now
      for id in Array(state.members.keys) {
        state.members[id]?.kept = nil
        state.members[id]?.last = nil
      }
      state.ephemerides.goBack(by: slept)
      (state.trace, state.lastFixAt) = (nil, nil)
      state.plan.resume(after: slept, at: now)
      advance(&state)
    }
    work()
  }

  /// Takes a report of a motion detector.
  private func receive(_ stillness: MotionState, for id: ID, by watch: Int) {
    state.withLock { state in
      guard let member = state.members[id], member.watch == watch else { return }
      state.members[id]?.stillness = stillness
      if case .moved(let at) = stillness, case .still(let since) = member.stillness,
        at - since >= FixPlanner.stand
      {
        state.plan.move(id, at: clock.now)
      }
      advance(&state)
    }
    work()
  }

  /// Marks the clients that need no new fix, because the board has not moved or because a known fix is fresh enough.
  private func stand(_ state: inout State) {
    for (id, member) in state.members {
      guard let schedule = state.plan.schedule(of: id) else { continue }
      let fix = state.plan.hasGoodFix(id) ? member.kept.flatMap(ReusedFix.init) : member.last
      var until: MonotonicInstant?
      if schedule.takesReusedFix, case .still(let since) = member.stillness, let fix, fix.at >= since,
        !state.isReceiverAwake
      {
        until = fix.isGoodUntil(schedule)
      }
      let fresh = freshKnown(schedule, state)
      let isFresh = fresh.map { $0.until > until ?? $0.at } ?? false
      state.members[id]?.known = isFresh ? fresh?.state : nil
      state.plan.stand(id, until: isFresh ? fresh?.until : until)
    }
  }

  /// The last known fix, if it is good enough for a client that accepts a known one, and until when it is fresh.
  private func freshKnown(
    _ schedule: Schedule, _ state: State
  ) -> (state: FusedState, at: MonotonicInstant, until: MonotonicInstant)? {
    guard let maxAge = schedule.maxAge, let known = state.hub?.lastState.value, let at = known.position?.at,
      known.suits(schedule)
    else { return nil }
    return (known, at, at + maxAge)
  }

  /// Updates the limits on requests after the receivers' budgets may have changed them.
  private func degrade(_ state: inout State) {
    guard let degradation = state.hub?.degradation, degradation != state.degradation else { return }
    state.degradation = degradation
    for (id, member) in state.members { state.plan.degrade(id, to: degradation.applied(to: member.schedule)) }
  }

  private func advance(_ state: inout State) {
    let now = clock.now
    degrade(&state)
    stand(&state)
    perform(state.plan.advance(to: now, lead: lead(state.hub, at: now)), keeping: nil, at: now, &state)
  }

  private func perform(
    _ effects: [SchedulePlan.Effect], keeping present: FusedState?, at now: MonotonicInstant, _ state: inout State
  ) {
    for effect in effects {
      switch effect {
      case .keep(let id): state.members[id]?.kept = present
      case .settled(let id):
        guard var trace = state.trace, let schedule = state.plan.schedule(of: id) else { continue }
        state.hub?.fixHistory?.learnAcquisitions { trace.settle(.init(of: schedule.accuracyMetres), at: now, &$0) }
        state.trace = trace
      case .deliver(let id, let due, let isMet):
        guard let member = state.members[id] else { continue }
        var fix = member.kept ?? FusedState(at: now)
        if isMet { state.members[id]?.last = ReusedFix(fix) }
        fix.at = max(now, fix.at)
        state.members[id]?.kept = nil
        let degraded = state.plan.degraded(id, member.schedule)
        state.deliveries.append(
          Delivery(
            id: id, run: member.run,
            fix: RequestedFix(
              state: fix, schedule: member.schedule, degraded: degraded, due: due,
              // The held fix may have been good enough only for the degraded request, which no longer applies.
              isMet: isMet && fix.suits(member.schedule))))
      case .again(let id, let due):
        guard let member = state.members[id] else { continue }
        let degraded = state.plan.degraded(id, member.schedule)
        if var known = member.known {
          known.at = max(now, known.at)
          state.deliveries.append(
            Delivery(
              id: id, run: member.run,
              fix: RequestedFix(
                state: known, schedule: member.schedule, degraded: degraded, due: due,
                isMet: degraded == nil || known.suits(member.schedule), isKnown: true)))
          continue
        }
        guard let last = member.last else { continue }
        let fix = last.state(at: now)
        state.deliveries.append(
          Delivery(
            id: id, run: member.run,
            fix: RequestedFix(
              state: fix, schedule: member.schedule, degraded: degraded, due: due,
              isMet: degraded == nil || fix.suits(member.schedule), isStill: true)))
        // A motion detector that has lost its supply is silent too, so it must be read.
        state.hub?.registry.value.motion?.look()
      }
    }
  }

  /// The time between the wake of receivers and the due time.
  private func lead(_ hub: Hub?, at now: MonotonicInstant) -> SchedulePlan.Lead {
    guard let leadTime = hub?.leadTime(at: now) else { return { _, _ in .zero } }
    // Many clients need the same kind of start.
    var known: [AcquisitionTimes.Start: Duration] = [:]
    return { schedule, due in
      let start = leadTime.start(schedule, due)
      if let lead = known[start] { return lead }
      let lead = leadTime.lead(start)
      known[start] = lead
      return lead
    }
  }

  // MARK: Carrying out the decisions

  private func work() {
    let isOthers = state.withLock { state in
      defer { state.isWorking = true }
      return state.isWorking
    }
    if isOthers { return }
    while let step = state.withLock({ nextStep(&$0) }) { perform(step) }
  }

  /// The next action; `nil` ends the work.
  private func nextStep(_ state: inout State) -> Step? {
    if state.isOver, !state.members.isEmpty {
      let members = state.members.sorted { $0.key < $1.key }.map(\.value)
      state.members = [:]
      state.plan = SchedulePlan()
      state.deliveries = []
      return .finish(members)
    }
    if !state.deliveries.isEmpty {
      defer { state.deliveries = [] }
      return .deliver(state.deliveries.filter { state.members[$0.id] != nil })
    }
    if !state.unwatched.isEmpty { return .end(state.unwatched.removeFirst()) }
    if let motion = state.hub?.registry.value.motion,
      let (id, member) = state.members.first(where: { $0.value.watch == nil })
    {
      state.lastWatch += 1
      state.members[id]?.watch = state.lastWatch
      return .watch(id, state.lastWatch, member.holders, motion)
    }
    let now = clock.now
    let lead = lead(state.hub, at: now)
    let awake = state.plan.awake
    // The clients that had their fix last pay for the collection of ephemerides.
    let collectionEnd =
      awake.isEmpty && state.lease != nil
      ? state.ephemerides.end(
        at: now, nextWake: state.plan.nextWake(at: now, lead: lead),
        hotStart: state.hub?.fixHistory?.learned.restarts[.hot].map { .seconds($0.seconds) }) : nil
    state.isCollecting = collectionEnd != nil
    // The clients are named before receivers wake, because all of them pay for the wake.
    if awake != state.awake, collectionEnd == nil {
      let (before, now) = (Set(state.awake), Set(awake))
      state.awake = awake
      return .name(
        awake.filter { !before.contains($0) }.compactMap { id in state.members[id].map { (id, $0.holders) } },
        notAnyMore: before.subtracting(now).compactMap { state.memberships.removeValue(forKey: $0) })
    }
    if let hub = state.hub, !awake.isEmpty {
      if state.states == nil { return .listen(hub) }
      if state.lease == nil {
        state.timing.wake = nil
        return .wake(hub)
      }
    }
    if awake.isEmpty, collectionEnd == nil { endLease(&state, at: now) }
    if !state.ended.isEmpty {
      let lease = state.ended.removeFirst()
      state.timing.wake = state.plan.nextWake(at: now, lead: lead)
      return .release(lease, state.hub, nextWake: state.timing.wake)
    }
    if awake.isEmpty {
      state.trace = nil
      if state.lease == nil, let states = state.states {
        state.states = nil
        return .end(states)
      }
    }
    let timing = Timing(
      next: [state.plan.nextInstant(lead: lead), collectionEnd].compactMap { $0 }.min(),
      wake: state.plan.nextWake(at: now, lead: lead))
    if timing != state.timing { return .time(timing, state.hub) }
    state.isWorking = false
    return nil
  }

  /// Moves the lease on the receivers to `ended`, whose subscriptions are cancelled later, outside the lock.
  private func endLease(_ state: inout State, at now: MonotonicInstant) {
    guard let lease = state.lease else { return }
    state.lease = nil
    state.ended.append(lease)
    state.ephemerides.sleep(at: now)
  }

  private func perform(_ step: Step) {
    switch step {
    case .deliver(let deliveries): for delivery in deliveries { delivery.run.send(delivery.fix) }
    case .name(let new, let notAnyMore):
      let memberships = group.add(new.map { $0.holders.map(\.forFix) })
      state.withLock { state in
        for (one, membership) in zip(new, memberships) { state.memberships[one.id] = membership }
      }
      group.remove(notAnyMore)
    case .finish(let members):
      for member in members {
        member.motion?.cancel()
        member.run.finish(.finished)
      }
    case .listen(let hub):
      let states = hub.states.fused.subscribe(as: "fixes", receiveValue: { [weak self] in self?.receive($0) })
      state.withLock { state in
        if state.hub === hub { state.states = states } else { state.ended.append(states) }
      }
    case .watch(let id, let watch, let holders, let motion):
      let subscription = motion.stillness.subscribe(
        as: holders.map { $0.wanting([.motion]) },
        receiveValue: { [weak self] in self?.receive($0, for: id, by: watch) })
      state.withLock { state in
        if state.members[id]?.watch == watch {
          state.members[id]?.motion = subscription
        } else {
          state.unwatched.append(subscription)
        }
      }
    case .wake(let hub): wake(hub)
    case .release(let lease, let hub, let nextWake):
      guard let hub else { return lease.cancel() }
      hub.changeScheduledLeases(nextWake: nextWake) { lease.cancel() }
    case .end(let states): states.cancel()
    case .time(let timing, let hub): set(timing, hub)
    }
  }

  private func wake(_ hub: Hub) {
    let now = clock.now
    let kind = hub.fixMonitor?.restingSince.map { RestartCosts.Kind(after: now.seconds(since: $0)) }
    state.withLock { $0.trace = kind.map { AcquisitionTrace($0, at: now) } }
    let lease = hub.changeScheduledLeases(nextWake: nil) { hub.leaseForFixes(as: Holders(group)) }
    state.withLock { state in
      if state.hub === hub { state.lease = lease } else { state.ended.append(lease) }
    }
  }

  private func set(_ timing: Timing, _ hub: Hub?) {
    hub?.expectWake(at: timing.wake)
    let (overtaken, number) = state.withLock { state -> (ScheduledAction?, Int?) in
      defer { state.timing = timing }
      if timing.next == state.timing.next { return (nil, nil) }
      state.timerNumber += 1
      defer { state.timer = nil }
      return (state.timer, state.timerNumber)
    }
    overtaken?.cancel()
    guard let number, let next = timing.next else { return }
    // A timer that is already due fires here, and leaves the rest to this thread.
    let timer = clock.schedule(at: next) { [weak self] in self?.timerFired(number) }
    let isTooLate = state.withLock { state in
      guard state.timerNumber == number, state.timing.next == next else { return true }
      state.timer = timer
      return false
    }
    if isTooLate { timer.cancel() }
  }

  // MARK: Reports

  /// The clients and their schedules, in the order of their arrival.
  func reports(by hub: Hub) -> [ScheduleReport] {
    state.withLock { state in
      if state.members.isEmpty { return [] }
      let leadTime = hub.leadTime(at: clock.now)
      return state.members.keys.sorted().compactMap { id in
        guard let member = state.members[id], let schedule = state.plan.schedule(of: id),
          let due = state.plan.due(of: id), let phase = state.plan.phase(of: id),
          let wake = state.plan.wakeTime(of: id, lead: leadTime.lead)
        else { return nil }
        let reason: String
        switch phase {
        case .asleep where state.isCollecting && state.awake.contains(id),
          .holding where state.isCollecting && state.awake.contains(id):
          reason = "awake, to receive the satellites' orbits for the next starts"
        case .asleep where state.plan.stands(id) && member.known != nil:
          reason = "the last known position is fresh enough"
        case .asleep where state.plan.stands(id):
          reason = "the board has not moved since the last fix, which is repeated"
        case .asleep: reason = leadTime.reason(schedule, due)
        case .awake:
          reason =
            member.kept?.radiusMetres.map { "awake, at \($0.short) m so far" }
            ?? "awake, without a fix so far"
        case .holding(let isMet):
          reason = isMet ? "its fix was found before it is due" : "time ran out before it is due"
        }
        return ScheduleReport(
          holder: member.holders.label, schedule: member.schedule, degraded: state.plan.degraded(id, member.schedule),
          due: due,
          wake: phase == .asleep && !state.plan.stands(id) ? wake : nil, reason: reason)
      }
    }
  }
}
