import MonotonicTime
import Publishing

/// Chooses the next step that carries out the clients' plan. It knows which clients are named as holders, whether
/// receivers are held, and the instant for which the timer is set.
///
/// `FixPlanner` performs one step after the other outside its lock, reports the leases and subscriptions that it took,
/// and asks for the next step.
struct FixSteps: Sendable {
  typealias ID = FixClients.ID

  enum Step: Sendable {
    case deliver([FixClients.Delivery])
    /// Complete the subscriptions of these clients.
    case finish([ID])
    /// Subscribe to the motion detector for a client, then call `FixClients.hold`.
    case watch(ID, Int, Holders)
    /// Add these clients as holders of awake receivers, and remove the clients that are holders no longer.
    case name([(id: ID, holders: Holders)], notAnyMore: [ID])
    /// Subscribe to the states, then call `hold(states:)`.
    case listen
    /// Subscribe to the epochs of receivers that are awake for other holders, then call `hold(epochs:)`.
    case observe
    /// Take a lease on the receivers, then call `hold(lease:)`.
    case wake
    case release(Subscription, nextWake: MonotonicInstant?)
    case end(Subscription)
    /// Report the next wake to sleeping devices, and set the timer if its instant has changed.
    case time(wake: MonotonicInstant?, setsTimer: Bool)
  }

  private struct Timing: Equatable {
    /// The time of the next action, for which the timer is set.
    var next: MonotonicInstant?
    /// The next wake of sleeping devices, as reported to them.
    var wake: MonotonicInstant?
  }

  /// The trace of the start in progress.
  var trace: AcquisitionTrace?
  private(set) var isOver = false
  /// Whether a thread performs steps.
  private var isWorking = false
  /// The clients that were last named as holders of awake receivers.
  private var named: [ID] = []
  /// The subscription to the states, while devices are awake for any holder.
  private var states: Subscription?
  /// The subscription to the epochs of receivers that are awake for other holders, while a client pauses its search.
  private var epochs: Subscription?
  /// The lease on receivers, while they should be awake.
  private var lease: Subscription?
  /// The leases and subscriptions to cancel.
  private var ended: [Subscription] = []
  private var timing = Timing()
  private var ephemerides = EphemerisCollection()
  /// Whether the receivers are still awake only to collect ephemerides.
  private var isCollecting = false

  /// The instant for which the timer must be set.
  var timerInstant: MonotonicInstant? { timing.next }

  /// Whether the receivers are still awake for a client, only to collect ephemerides.
  func isCollecting(for id: ID) -> Bool { isCollecting && named.contains(id) }

  // MARK: Events

  /// - Returns: whether the calling thread must perform steps until there is none; `false` if another thread does
  mutating func begin() -> Bool {
    defer { isWorking = true }
    return !isWorking
  }

  mutating func receiveFix(at now: MonotonicInstant) { ephemerides.receiveFix(at: now) }

  /// - Returns: `false` if the timer is outdated, because it has been set to a later instant in the meantime
  mutating func timerFired(at now: MonotonicInstant) -> Bool {
    guard let next = timing.next, next <= now else { return false }
    timing.next = nil
    return true
  }

  mutating func boardHasChanged(hasOtherReceivers: Bool) {
    // The new devices' monitors have no next wake yet.
    timing.wake = nil
    if hasOtherReceivers { trace = nil }
  }

  /// Makes the times of received ephemerides earlier by the duration of a suspension, and forgets the start in
  /// progress.
  mutating func resume(after slept: Duration) {
    ephemerides.goBack(by: slept)
    trace = nil
  }

  /// Takes no new lease or subscription, and moves the present ones to `ended`.
  mutating func end(at now: MonotonicInstant) {
    trace = nil
    endLease(at: now)
    if let states { ended.append(states) }
    if let epochs { ended.append(epochs) }
    (states, epochs) = (nil, nil)
    isOver = true
  }

  /// Keeps the subscription to the states, unless everything has ended.
  mutating func hold(states: Subscription) { if isOver { ended.append(states) } else { self.states = states } }

  /// Keeps the subscription to epochs, unless everything has ended.
  mutating func hold(epochs: Subscription) { if isOver { ended.append(epochs) } else { self.epochs = epochs } }

  /// Keeps the lease on the receivers, unless everything has ended.
  mutating func hold(lease: Subscription) { if isOver { ended.append(lease) } else { self.lease = lease } }

  /// Moves the lease on the receivers to `ended`.
  private mutating func endLease(at now: MonotonicInstant) {
    guard let lease else { return }
    self.lease = nil
    ended.append(lease)
    ephemerides.sleep(at: now)
  }

  // MARK: The next step

  /// The next step; `nil` ends the work.
  ///
  /// - Parameters:
  ///   - leadTime: how early receivers must be woken; `nil` without a hub
  ///   - hasMotionDetector: whether clients can subscribe to a motion detector
  mutating func next(
    for clients: inout FixClients, at now: MonotonicInstant, leadTime: FixLeadTime?, hasMotionDetector: Bool
  ) -> Step? {
    if isOver, !clients.isEmpty { return .finish(clients.removeAll()) }
    if let deliveries = clients.takeDeliveries() { return .deliver(deliveries) }
    if let motion = clients.takeUnwatched() { return .end(motion) }
    if hasMotionDetector, let next = clients.nextWatch() { return .watch(next.id, next.watch, next.holders) }
    let step = nextForReceivers(of: clients, at: now, leadTime)
    if step == nil { isWorking = false }
    return step
  }

  private mutating func nextForReceivers(
    of clients: FixClients, at now: MonotonicInstant, _ leadTime: FixLeadTime?
  ) -> Step? {
    let plan = clients.plan
    let lead = FixLeadTime.leads(leadTime)
    let awake = plan.awake
    // During the collection of ephemerides, the clients of the last fix stay named, and pay for it.
    var collectionEnd: MonotonicInstant?
    if awake.isEmpty, lease != nil {
      collectionEnd = ephemerides.end(
        at: now, nextWake: plan.nextWake(at: now, lead: lead),
        hotStart: leadTime?.restarts[.hot].map { .seconds($0.seconds) })
    }
    isCollecting = collectionEnd != nil
    // The clients are named before receivers wake, because all of them pay for the wake.
    if awake != named, !isCollecting { return name(awake, of: clients) }
    if leadTime != nil, !awake.isEmpty {
      if states == nil { return .listen }
      if lease == nil {
        timing.wake = nil
        return .wake
      }
    }
    if awake.isEmpty, !isCollecting { endLease(at: now) }
    if !ended.isEmpty {
      timing.wake = plan.nextWake(at: now, lead: lead)
      return .release(ended.removeFirst(), nextWake: timing.wake)
    }
    if awake.isEmpty {
      trace = nil
      if lease == nil, let states {
        self.states = nil
        return .end(states)
      }
    }
    let isPaused = awake.isEmpty && plan.isSearchPaused
    if isPaused, epochs == nil, leadTime != nil { return .observe }
    if !isPaused, let epochs {
      self.epochs = nil
      return .end(epochs)
    }
    let last = timing
    timing.next = [plan.nextInstant(lead: lead), collectionEnd].compactMap { $0 }.min()
    timing.wake = plan.nextWake(at: now, lead: lead)
    return timing == last ? nil : .time(wake: timing.wake, setsTimer: timing.next != last.next)
  }

  private mutating func name(_ awake: [ID], of clients: FixClients) -> Step {
    let (before, now) = (Set(named), Set(awake))
    let notAnyMore = named.filter { !now.contains($0) }
    named = awake
    let new = awake.filter { !before.contains($0) }.compactMap { id in
      clients[id].map { (id: id, holders: $0.holders) }
    }
    return .name(new, notAnyMore: notAnyMore)
  }
}
