import Devices
import Fusion
import Guarding
import MonotonicTime
import Publishing

/// Keeps receivers awake for scheduled fixes, and asleep in between.
///
/// A change of board does not change the time of any fix. Between two wakes there is one timer. One lease on the
/// receivers covers all clients of a wake and names them. The receivers' holders therefore change once for all clients,
/// and not once for each.
///
/// `FixClients` and `FixSteps` decide under the lock. One thread at a time performs the steps, outside the lock. If
/// other threads change the plan in the meantime, the thread that performs the steps checks again before it ends.
final class FixPlanner: Sendable {
  private typealias ID = FixClients.ID

  private struct State {
    var clients = FixClients()
    var steps = FixSteps()
    weak var hub: Hub?
    /// The clients' subscriptions.
    var runs: [ID: ActivationContext<RequestedFix, Never>] = [:]
  }

  private let clock: any MonotonicTimeSource
  private let state = Guarded(State())
  /// The holders for which receivers are awake.
  private let holders = FixHolders()
  /// The alarm for the plan's next action.
  private let alarm: Alarm
  private let lifetime = Lifetime()
  /// The callback for a change of the times of fixes.
  private let timesChanged = Guarded<Callback?>(nil)

  init(clock: any MonotonicTimeSource) {
    self.clock = clock
    alarm = Alarm(clock: clock)
    clock.onResume { [weak self] in self?.resume(after: $0) }.store(in: lifetime)
  }

  /// Whether receivers are awake for scheduled fixes.
  var areUnderWay: Bool { !holders.isEmpty }

  // MARK: Clients

  /// The fixes of one subscriber. A subscription wakes receivers at once for the first fix, and later for each further
  /// fix.
  ///
  /// - Parameter schedule: the schedule; after each change the next fix is due one interval later
  func fixes(on schedule: Property<Schedule>) -> Deferred<RequestedFix, Never> {
    Deferred { [self, clock] holders in
      LazyPublisher(deriving: holders.label, clock: clock) { [self] (run) throws(Never) in
        guard let id = add(holders, schedule.value, run) else {
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

  private func add(_ holders: Holders, _ schedule: Schedule, _ run: ActivationContext<RequestedFix, Never>) -> ID? {
    state.withLock { state in
      if state.steps.isOver { return nil }
      let id = state.clients.add(holders, schedule, at: clock.now)
      state.runs[id] = run
      advance(&state)
      return id
    }
  }

  private func change(_ id: ID, to schedule: Schedule) {
    update { state in
      let limits = state.hub?.degradation
      if state.clients.change(id, to: schedule, within: limits, at: clock.now) { advance(&state) }
    }
  }

  private func remove(_ id: ID) {
    update { state in
      state.clients.remove(id)
      state.runs[id] = nil
    }
  }

  /// The clients and their schedules, in the order of their arrival.
  func reports(by hub: Hub) -> [ScheduleReport] {
    state.withLock { state in
      if state.clients.isEmpty { return [] }
      let leadTime = hub.leadTime(at: clock.now)
      return state.clients.ids.compactMap { id in
        state.clients.report(of: id, leadTime, isCollecting: state.steps.isCollecting(for: id))
      }
    }
  }

  // MARK: A machine that sleeps

  /// Calls back after each change of the times of fixes; `nil` ends this.
  func callAfterChanges(_ action: Callback?) { timesChanged.withLock { $0 = action } }

  /// Makes fixes due at multiples of their interval in UTC; see `SchedulePlan.takeUp`.
  func takeUp(offset: Duration, due: MonotonicInstant?) {
    let now = clock.now
    update { state in
      state.clients.takeUp(offset: offset, due: due, at: now)
    }
  }

  /// The facts that decide whether the machine may sleep.
  struct Outlook {
    /// Whether fixes are under way.
    var isUnderWay: Bool
    /// The first fix for which a sleeping machine would have to wake.
    var next: BoardSleepPolicy.NextFix?
    /// A client whose next fix is only this late because a motion sensor would report motion earlier; `nil` if there is
    /// none.
    var reliesOnMotion: String?
  }

  func outlook(by hub: Hub) -> Outlook {
    state.withLock { state in
      let plan = state.clients.plan
      let first = plan.firstWake(lead: FixLeadTime.leads(hub.leadTime(at: clock.now)))
      let next = first.flatMap { first in
        state.clients[first.id].map { client in
          BoardSleepPolicy.NextFix(wake: first.wake, due: first.due, holder: client.holders.label)
        }
      }
      let relying = state.clients.ids.first { plan.schedule(of: $0)?.needsStillness == true }
      return Outlook(
        isUnderWay: plan.isUnderWay, next: next, reliesOnMotion: relying.flatMap { state.clients[$0]?.holders.label })
    }
  }

  // MARK: The board

  /// Serves the hub's clients from now on.
  func begin(on hub: Hub) { state.withLock { $0.hub = hub } }

  /// Continues with the devices of another board. The leases have moved to them already.
  func boardHasChanged(from old: DeviceRegistry, to new: DeviceRegistry) {
    update { state in
      let hasOtherReceivers = new.receivers !== old.receivers
      state.steps.boardHasChanged(hasOtherReceivers: hasOtherReceivers)
      if hasOtherReceivers {
        state.clients.searchAnew(at: clock.now)
        advance(&state)
      }
      guard new.motion !== old.motion else { return }
      state.clients.unwatch()
      // The new detector may never report anything, and an interval that needs stillness must end now.
      advance(&state)
    }
  }

  /// Ends pauses of searches, because a receiver has been plugged in.
  func receiverHasAppeared() { endPauses(by: clock.now) }

  private func endPauses(by instant: MonotonicInstant) {
    update { state in
      state.clients.endPauses(by: instant, at: clock.now)
      advance(&state)
    }
  }

  /// Applies the limits on requests after they have changed.
  func limitsHaveChanged() { update { advance(&$0) } }

  /// Ends all fixes.
  func end() {
    update { state in
      state.hub = nil
      state.steps.end(at: clock.now)
    }
  }

  // MARK: Events

  private func receive(_ present: FusedState) {
    guard let fix = present.fixInstant, let hub = state.withLock({ $0.clients.isNew(fix) ? $0.hub : nil }) else {
      return
    }
    let isHeldByOthers = hub.receiversAreHeld(besidesForFixes: true)
    update { state in
      let now = clock.now
      state.steps.receiveFix(at: now)
      hub.learn(from: &state.steps.trace) { $0.receive(fix: fix, radiusMetres: present.radiusMetres, at: now, &$1) }
      let effects = state.clients.receive(present, fix: fix, isHeldByOthers: isHeldByOthers, at: now)
      hub.perform(effects, during: &state.steps.trace, at: now)
      advance(&state)
    }
  }

  /// Handles a report of a motion detector.
  private func receive(_ report: MotionState, for id: ID, by watch: Int) {
    update { state in
      if state.clients.receive(report, for: id, by: watch, at: clock.now) { advance(&state) }
    }
  }

  private func timerFired() {
    // If a receiver is awake, a new fix costs nothing, with or without motion.
    let isAwake = state.withLock { $0.hub }?.receiversAreHeld(besidesForFixes: false) ?? false
    update { state in
      guard state.steps.timerFired(at: clock.now) else { return }
      advance(&state, isReceiverAwake: isAwake)
      state.clients.stand(lastKnown: state.hub?.lastState.value, at: clock.now)
    }
  }

  /// Makes the scheduled fixes due earlier after the machine was suspended, because the clock stood still in the
  /// meantime.
  private func resume(after slept: Duration) {
    update { state in
      state.steps.resume(after: slept)
      state.clients.resume(after: slept, at: clock.now)
      advance(&state)
    }
  }

  private func advance(_ state: inout State, isReceiverAwake: Bool = false) {
    let (now, hub) = (clock.now, state.hub)
    state.clients.degrade(to: hub?.degradation)
    let effects = state.clients.advance(
      to: now, lead: FixLeadTime.leads(hub?.leadTime(at: now)), lastKnown: hub?.lastState.value,
      isReceiverAwake: isReceiverAwake)
    hub?.perform(effects, during: &state.steps.trace, at: now)
  }

  /// Changes the state under the lock, and then performs steps until there is none.
  private func update(_ change: (inout State) -> Void) {
    state.withLock(change)
    work()
  }

  // MARK: The steps

  private func work() {
    guard state.withLock({ $0.steps.begin() }) else { return }
    while let (step, hub) = state.withLock({ next(&$0) }) { perform(step, hub) }
  }

  private func next(_ state: inout State) -> (FixSteps.Step, Hub?)? {
    let (now, hub) = (clock.now, state.hub)
    let step = state.steps.next(
      for: &state.clients, at: now, leadTime: hub?.leadTime(at: now),
      hasMotionDetector: hub?.registry.value.motion != nil)
    return step.map { ($0, hub) }
  }

  private func perform(_ step: FixSteps.Step, _ hub: Hub?) {
    switch step {
    case .deliver(let deliveries):
      let runs = state.withLock { state in deliveries.map { state.runs[$0.id] } }
      for (delivery, run) in zip(deliveries, runs) { run?.send(delivery.fix) }
    case .finish(let ids):
      let runs = state.withLock { state in ids.compactMap { state.runs.removeValue(forKey: $0) } }
      for run in runs { run.finish(.finished) }
    case .watch(let id, let watch, let holders): self.watch(hub, for: id, watch, holders)
    case .name(let new, let notAnyMore): holders.change(adding: new, removing: notAnyMore)
    case .listen:
      let states = hub?.states.fused.subscribe(as: "fixes", receiveValue: { [weak self] in self?.receive($0) })
      if let states { state.withLock { $0.steps.hold(states: states) } }
    case .observe:
      // Unlike a subscription to the states, this one does not keep the fusion under way.
      let epochs = hub?.observedEpochs.subscribe(
        as: "fixes", receiveValue: { [weak self] in if $0.position != nil { self?.endPauses(by: $0.at) } })
      if let epochs { state.withLock { $0.steps.hold(epochs: epochs) } }
    case .wake: if let hub { wake(hub) }
    case .release(let lease, let nextWake):
      guard let hub else { return lease.cancel() }
      hub.changeScheduledLeases(nextWake: nextWake) { lease.cancel() }
    case .end(let subscription): subscription.cancel()
    case .time(let wake, let setsTimer):
      hub?.expectWake(at: wake)
      timesChanged.withLock { $0 }?()
      guard setsTimer else { return }
      alarm.set(asking: { state.withLock { $0.steps.timerInstant } }) { [weak self] in self?.timerFired() }
    }
  }

  private func watch(_ hub: Hub?, for id: ID, _ watch: Int, _ holders: Holders) {
    let subscription = hub?.registry.value.motion?.stillness.subscribe(
      as: holders.map { $0.wanting([.motion]) },
      receiveValue: { [weak self] in self?.receive($0, for: id, by: watch) })
    if let subscription { state.withLock { $0.clients.hold(subscription, for: id, as: watch) } }
  }

  private func wake(_ hub: Hub) {
    let trace = hub.traceOfStart(at: clock.now)
    state.withLock { $0.steps.trace = trace }
    let lease = hub.changeScheduledLeases(nextWake: nil) { hub.leaseForFixes(as: holders.all) }
    state.withLock { $0.steps.hold(lease: lease) }
  }
}
