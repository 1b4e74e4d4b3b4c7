import Fusion
import MonotonicTime
import Publishing

/// The clients with scheduled fixes: when each is due, which fix it gets, and what is ready for delivery.
///
/// The methods take an event and return the effects that the caller must perform at once. The lock, the clock and the
/// hub belong to `FixPlanner`.
struct FixClients: Sendable {
  typealias ID = SchedulePlan.ID

  struct Delivery: Sendable {
    let id: ID
    let fix: RequestedFix
  }

  enum Effect: Equatable, Sendable {
    /// A client has a fix of this grade, or has stopped waiting for it. The hub learns from the time that this took.
    case settled(AcquisitionTimes.Grade)
    /// Read the motion detector.
    case look
  }

  private(set) var plan = SchedulePlan()
  private var clients: [ID: FixClient] = [:]
  private var lastID = 0
  private var lastWatch = 0
  private var lastFixAt: MonotonicInstant?
  /// The limits that the energy budgets set on requests.
  private var degradation = Degradation.none
  private var deliveries: [Delivery] = []
  /// The ended subscriptions to motion.
  private var unwatched: [Subscription] = []

  var isEmpty: Bool { clients.isEmpty }

  /// The clients in the order of their arrival.
  var ids: [ID] { clients.keys.sorted() }

  subscript(id: ID) -> FixClient? { clients[id] }

  // MARK: Requests

  mutating func add(_ holders: Holders, _ schedule: Schedule, at now: MonotonicInstant) -> ID {
    lastID += 1
    clients[lastID] = FixClient(holders, schedule)
    plan.add(lastID, degradation.applied(to: schedule), at: now)
    return lastID
  }

  /// Changes a client's request. The next fix is due one interval later.
  ///
  /// - Parameter limits: the present limits of the energy budgets, which determine the interval; `nil` if unknown
  /// - Returns: `false` if the request is the same, so that the due time stays
  mutating func change(
    _ id: ID, to schedule: Schedule, within limits: Degradation?, at now: MonotonicInstant
  ) -> Bool {
    guard let client = clients[id], client.schedule != schedule else { return false }
    degrade(to: limits)
    plan.change(id, to: degradation.applied(to: schedule), at: now)
    let isAsleep = plan.phase(of: id) == .asleep
    clients[id]?.change(to: schedule, isAsleep: isAsleep)
    return true
  }

  /// Makes fixes due at multiples of their interval in UTC; see `SchedulePlan.takeUp`.
  mutating func takeUp(offset: Duration, due: MonotonicInstant?, at now: MonotonicInstant) {
    plan.takeUp(offset: offset, due: due, at: now)
  }

  mutating func remove(_ id: ID) {
    plan.remove(id)
    if var client = clients.removeValue(forKey: id), let motion = client.motion.end() { unwatched.append(motion) }
  }

  /// Removes all clients, and returns their IDs in the order of their arrival.
  mutating func removeAll() -> [ID] {
    unwatch()
    defer { (plan, clients, deliveries) = (SchedulePlan(), [:], []) }
    return ids
  }

  /// Updates the limits on requests after the receivers' budgets may have changed them; `nil` if unknown.
  mutating func degrade(to limits: Degradation?) {
    guard let limits, limits != degradation else { return }
    degradation = limits
    for (id, client) in clients { plan.degrade(id, to: limits.applied(to: client.schedule)) }
  }

  /// See `SchedulePlan.searchAnew`.
  mutating func searchAnew(at now: MonotonicInstant) { plan.searchAnew(at: now) }

  /// See `SchedulePlan.endPauses`.
  mutating func endPauses(by instant: MonotonicInstant, at now: MonotonicInstant) {
    plan.endPauses(by: instant, at: now)
  }

  // MARK: Fixes

  /// Whether this is another fix than the last one.
  mutating func isNew(_ fix: MonotonicInstant) -> Bool {
    defer { lastFixAt = fix }
    return lastFixAt != fix
  }

  /// Processes a fix.
  ///
  /// - Parameters:
  ///   - fix: the time of the fix
  ///   - isHeldByOthers: whether the devices are awake for other holders too
  mutating func receive(
    _ present: FusedState, fix: MonotonicInstant, isHeldByOthers: Bool, at now: MonotonicInstant
  ) -> [Effect] {
    // A detector that has reported motion reports no further motion until it is read. Read it, so that the next fix may
    // repeat this one.
    let look: [Effect] = clients.values.contains { $0.motion.hasMoved } ? [.look] : []
    let effects = plan.receive(
      fix: fix, radiusMetres: present.radiusMetres, isHeldByOthers: isHeldByOthers, at: now)
    return look + perform(effects, keeping: present, at: now)
  }

  /// Performs the due actions of the plan.
  ///
  /// - Parameters:
  ///   - lastKnown: the hub's last known state
  ///   - isReceiverAwake: whether a receiver is awake for any holder
  mutating func advance(
    to now: MonotonicInstant, lead: SchedulePlan.Lead, lastKnown: FusedState?, isReceiverAwake: Bool = false
  ) -> [Effect] {
    stand(lastKnown: lastKnown, isReceiverAwake: isReceiverAwake, at: now)
    return perform(plan.advance(to: now, lead: lead), keeping: nil, at: now)
  }

  /// Marks the clients that need no new fix, because the board has not moved or because a known fix is fresh enough.
  mutating func stand(lastKnown: FusedState?, isReceiverAwake: Bool = false, at now: MonotonicInstant) {
    for id in ids {
      guard let schedule = plan.schedule(of: id) else { continue }
      let hasGoodFix = plan.hasGoodFix(id)
      // Only motion ends an interval that needs stillness early. A receiver that is awake for other holders does not.
      let isDue = !schedule.needsStillness || plan.due(of: id).map { $0 <= now } ?? true
      let until = clients[id]?.stands(
        schedule, hasGoodFix: hasGoodFix, lastKnown: lastKnown, isReceiverAwake: isReceiverAwake && isDue)
      plan.stand(id, until: until, at: now)
    }
  }

  /// Makes the due times of fixes earlier by the duration of a suspension, and forgets the fixes from before it.
  mutating func resume(after slept: Duration, at now: MonotonicInstant) {
    for id in ids { clients[id]?.resume() }
    lastFixAt = nil
    plan.resume(after: slept, at: now)
  }

  private mutating func perform(
    _ effects: [SchedulePlan.Effect], keeping present: FusedState?, at now: MonotonicInstant
  ) -> [Effect] {
    var remaining: [Effect] = []
    for effect in effects {
      switch effect {
      case .keep(let id): clients[id]?.keep(present)
      case .settled(let id):
        guard let schedule = plan.schedule(of: id) else { continue }
        remaining.append(.settled(AcquisitionTimes.Grade(of: schedule.accuracyMetres)))
      case .deliver(let id, let due, let isMet):
        let degraded = degraded(id)
        guard var fix = clients[id]?.takeFix(due: due, isMet: isMet, degraded: degraded, at: now) else { continue }
        fix.searchPausesUntil = plan.pause(of: id)?.end
        deliveries.append(Delivery(id: id, fix: fix))
      case .again(let id, let due):
        guard let fix = clients[id]?.fixAgain(due: due, degraded: degraded(id), at: now) else { continue }
        deliveries.append(Delivery(id: id, fix: fix))
        // A motion detector that has lost its supply is silent too, so it must be read.
        if fix.isStill { remaining.append(.look) }
      }
    }
    return remaining
  }

  /// The degraded form of a client's request; `nil` if it is not degraded.
  func degraded(_ id: ID) -> Schedule? { clients[id].flatMap { plan.degraded(id, $0.schedule) } }

  /// The fixes to deliver now; `nil` if there are none.
  mutating func takeDeliveries() -> [Delivery]? {
    if deliveries.isEmpty { return nil }
    defer { deliveries = [] }
    return deliveries.filter { clients[$0.id] != nil }
  }

  // MARK: Motion

  /// A client without a subscription to motion, and the number of the subscription that it needs.
  mutating func nextWatch() -> (id: ID, watch: Int, holders: Holders)? {
    let unwatching = clients.lazy.filter { $0.value.motion.watch == nil }
    guard let (id, client) = unwatching.min(by: { $0.key < $1.key }) else { return nil }
    lastWatch += 1
    clients[id]?.motion.begin(lastWatch)
    return (id, lastWatch, client.holders)
  }

  /// Keeps a subscription to motion. If the client does not need the subscription any more, the subscription is
  /// cancelled.
  mutating func hold(_ subscription: Subscription, for id: ID, as watch: Int) {
    if clients[id]?.motion.hold(subscription, as: watch) != true { unwatched.append(subscription) }
  }

  /// Handles a report of a motion detector. A board that starts moving after it stood still gets a new fix at once.
  ///
  /// - Returns: `false` if the subscription has ended
  mutating func receive(_ report: MotionState, for id: ID, by watch: Int, at now: MonotonicInstant) -> Bool {
    guard clients[id]?.motion.watch == watch else { return false }
    if clients[id]?.motion.receive(report) == true { plan.move(id, at: now) }
    return true
  }

  /// Ends all subscriptions to motion.
  mutating func unwatch() {
    for id in ids {
      if let motion = clients[id]?.motion.end() { unwatched.append(motion) }
    }
  }

  /// A subscription to motion to cancel.
  mutating func takeUnwatched() -> Subscription? { unwatched.isEmpty ? nil : unwatched.removeFirst() }
}
