import Fusion
import Guarding
import MonotonicTime
import Publishing

extension Hub {
  /// Positions that stay within a bound of the truth (95 %), with as many fixes as that needs. The receivers sleep
  /// while the position is certain enough, and wake before it is not. On a board with an inertial sensor, dead
  /// reckoning continues the position while the board moves. With a sensor that waits for motion, only that sensor is
  /// awake while the board stands still.
  public func fixes(errorMetres: Double, within: Duration) -> Deferred<RequestedFix, Never> {
    Deferred { [self] holders in
      LazyPublisher(deriving: holders.label, clock: machine.clock) { [self] (run) throws(Never) in
        let fixes = BoundedFixes(ErrorBound(metres: errorMetres, within: within), on: self, run)
        return fixes.begin()
      }
    }
  }

  /// The lease on the devices that dead reckoning needs; `nil` on a board without a fused inertial sensor.
  fileprivate var reckoning: LazyPublisher<Void, Never>? {
    let kinds = Set([StatePart.attitude]).kinds(on: board)
    return kinds.isEmpty ? nil : states.lease(on: [.attitude])
  }
}

/// The error-bounded positions of one subscriber.
///
/// Decisions are made and staged under the lock. The leases that they need are taken and ended outside the lock.
private final class BoundedFixes: Sendable {
  private struct State {
    var bound: ErrorBound
    /// The lease of the devices for dead reckoning.
    var lease: Subscription?
    var states: Subscription?
    /// When the last state was checked.
    var lookedAt: MonotonicInstant?
    /// The filter for values that have moved far enough for the subscriber.
    var filter: MovedFilter
    var isOver = false
  }

  /// The interval at which states are checked.
  private static let look = Duration.seconds(1)

  private let hub: Hub
  private let run: ActivationContext<RequestedFix, Never>
  private let schedule: MutableProperty<Schedule>
  private let state: Guarded<State>
  private var clock: any MonotonicTimeSource { hub.machine.clock }

  init(_ bound: ErrorBound, on hub: Hub, _ run: ActivationContext<RequestedFix, Never>) {
    self.hub = hub
    self.run = run
    schedule = MutableProperty(bound.schedule)
    state = Guarded(State(bound: bound, filter: MovedFilter(metres: bound.metres * ErrorBound.shareOfFix)))
  }

  func begin() -> Subscription {
    reckon(true)
    let fixes = hub.fixes(on: schedule.readOnly).subscribe(
      as: run.holders, receiveValue: { [self] in receive($0) }, receiveCompletion: { [run] in run.finish($0) })
    return Subscription { [self] in
      fixes.cancel()
      let (lease, states) = state.withLock { state in
        state.isOver = true
        defer { (state.lease, state.states) = (nil, nil) }
        return (state.lease, state.states)
      }
      states?.cancel()
      lease?.cancel()
    }
  }

  private func receive(_ fix: RequestedFix) {
    let now = clock.now
    let mustDeliver = state.withLock { state in
      state.bound.receive(
        ErrorBound.Estimate(fix.state, isStill: fix.isStanding), degradedMetres: fix.degraded?.accuracyMetres, at: now)
      _ = state.filter.takes(fix.state.position?.value)
      return schedule.stage(state.bound.schedule)
    }
    // Deliver the schedule before the fix, so that a device that is needed again at once does not fall asleep.
    if mustDeliver { schedule.deliver() }
    // A board that stands still needs no dead reckoning, because its motion sensor reports when it moves. The sensor's
    // samples have shown the stillness, which continues while the sensor changes to waiting for motion.
    reckon(!fix.isStanding)
    run.send(fix)
  }

  /// Takes or ends the leases that dead reckoning needs.
  private func reckon(_ isNeeded: Bool) {
    let isHeld = state.withLock { $0.lease != nil }
    guard isNeeded != isHeld else { return }
    guard isNeeded else {
      let (lease, states) = state.withLock { state in
        defer { (state.lease, state.states) = (nil, nil) }
        return (state.lease, state.states)
      }
      states?.cancel()
      lease?.cancel()
      return
    }
    guard let reckoning = hub.reckoning else { return }
    let holders = run.holders.map { $0.wanting([.attitude]) }
    let states = hub.states.fused.subscribe(as: "reckoning", receiveValue: { [weak self] in self?.look(at: $0) })
    let lease = reckoning.subscribe(as: holders, receiveValue: { _ in })
    let isTooLate = state.withLock { state in
      if state.isOver || state.lease != nil { return true }
      (state.lease, state.states) = (lease, states)
      return false
    }
    if isTooLate {
      states.cancel()
      lease.cancel()
    }
  }

  /// Checks a state between two deliveries of fixes. It comes from dead reckoning, or is fused while a receiver is
  /// awake and for a moment afterwards.
  private func look(at present: FusedState) {
    let isReckoned = present.mode == .deadReckoning
    guard isReckoned || present.mode == .fused, state.withLock({ isDue($0, present.at) }),
      let estimate = ErrorBound.Estimate(present, isStill: false)
    else { return }
    let (now, leadTime) = (clock.now, hub.leadTime(at: clock.now))
    let (position, mustDeliver) = state.withLock { state -> (RequestedFix?, Bool) in
      guard !state.isOver, isDue(state, present.at), let dueAt = state.bound.dueAt else { return (nil, false) }
      state.lookedAt = present.at
      let lead = min(leadTime.lead(state.bound.schedule, dueAt), state.bound.within)
      // Only dead reckoning shows how fast the position becomes less certain.
      let isChanged = isReckoned && state.bound.review(estimate, lead: lead, at: now)
      let mustDeliver = isChanged && schedule.stage(state.bound.schedule)
      guard state.filter.takes(present.position?.value) else { return (nil, mustDeliver) }
      let fix = RequestedFix(
        state: present, schedule: state.bound.schedule, due: now,
        isMet: (present.radiusMetres ?? .infinity) <= state.bound.metres, isReckoned: isReckoned)
      return (fix, mustDeliver)
    }
    if mustDeliver { schedule.deliver() }
    if let position { run.send(position) }
  }

  private func isDue(_ state: State, _ at: MonotonicInstant) -> Bool {
    state.lookedAt.map { at - $0 >= BoundedFixes.look } ?? true
  }
}
