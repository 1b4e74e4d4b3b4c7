import CLinux
import Guarding
import MonotonicTime

/// A hot publisher whose source runs only while it has subscribers.
///
/// The first subscriber starts the source. The source stops after the last one has left and the idle timeout has
/// passed. Runs never overlap. All subscribers share one run and receive the same values in the same order from the
/// moment they joined. A failure completes every subscriber; the next subscriber starts the source again.
///
/// ```swift
/// let celsius = LazyPublisher<Double, ThermometerError>("thermometer") { (context) throws(ThermometerError) in
///   let thermometer = try Thermometer.switchOn()
///   defer { thermometer.switchOff() }
///   while !context.stop.isSet { context.send(try thermometer.measure()) }
/// }
/// ```
///
/// A source is one scope. Before it returns or throws, it switches off everything it has switched on, so that a device
/// without subscribers has no power.
///
/// Sending a value takes one uncontended lock and no allocation, regardless of the number of subscribers.
public final class LazyPublisher<Output: Sendable, Failure: Error>: Publisher {
  /// Reads values on its own thread until `SourceContext.stop` is set.
  public typealias Body = @Sendable (SourceContext<Output, Failure>) throws(Failure) -> Void
  /// Subscribes to the publishers that the values are derived from, and returns one subscription. Cancelling it ends
  /// all of these subscriptions.
  public typealias ActivationBody = @Sendable (ActivationContext<Output, Failure>) throws(Failure) -> Subscription

  private enum Source: Sendable {
    case body(Body, lacking: @Sendable (_ errno: Int32) -> Completion<Failure>)
    case activation(ActivationBody)

    var isRead: Bool { if case .body = self { true } else { false } }
  }

  /// A subscriber, and its membership in the group of holders.
  private struct Registration {
    let receiver: Receiver<Output, Failure>
    let membership: HolderGroup.Membership
  }

  private struct State {
    var machine: LifecycleMachine
    var receivers: [Registration] = []
    var run: RunState?
    var timer: ScheduledAction?
    var failure: String?
    /// The failure for which the present run was declared hung or interrupted.
    var hang: Failure?
  }

  public let name: String
  private let source: Source
  private let clock: any MonotonicTimeSource
  private let idleTimeoutPolicy: (any IdleTimeoutPolicy)?
  private let broadcast: Broadcast<Output, Failure>
  private let state: Guarded<State>
  private let group: HolderGroup
  private let mutableActivity: MutableProperty<SourceActivity>

  /// Makes a publisher of the values that `body` reads on its own thread: `LazyPublisher("ticks") { context in … }`.
  ///
  /// - Parameters:
  ///   - name: the name of the thread, also used in messages
  ///   - replaysLatest: whether a new subscriber first receives the latest value of the current run
  ///   - idleTimeoutPolicy: chooses the idle timeout instead of `timing`, and may change how long the source stays off
  ///   - holderObserver: learns which holders start and stop holding the source
  ///   - lacking: the failure to report if the system has no thread or file descriptor left; by default the publisher
  ///     finishes its subscribers, and nothing retries
  ///   - body: powers the device, reads until `SourceContext.stop` is set, and powers the device down on every way out
  public convenience init(
    _ name: String, timing: LifecycleTiming = LifecycleTiming(), replaysLatest: Bool = false,
    clock: any MonotonicTimeSource = MonotonicClock(), idleTimeoutPolicy: (any IdleTimeoutPolicy)? = nil,
    holderObserver: (any HolderObserver)? = nil, lacking: (@Sendable (_ errno: Int32) -> Failure)? = nil,
    reading body: @escaping Body
  ) {
    self.init(
      name, timing, replaysLatest, clock, idleTimeoutPolicy, holderObserver,
      .body(body) { errno in lacking.map { .failed($0(errno)) } ?? .finished })
  }

  /// Makes a publisher derived from other publishers: `LazyPublisher(deriving: "state") { run in … }`. It is active
  /// from the start of `activation` until the subscription that `activation` returned is cancelled.
  ///
  /// - Parameters:
  ///   - name: used in messages
  ///   - replaysLatest: whether a new subscriber first receives the latest value of the current run
  ///   - holderObserver: learns which holders start and stop holding this publisher
  ///   - activation: subscribes upstream as `ActivationContext.holders` and returns the subscription
  public convenience init(
    deriving name: String, timing: LifecycleTiming = LifecycleTiming(), replaysLatest: Bool = false,
    clock: any MonotonicTimeSource = MonotonicClock(), holderObserver: (any HolderObserver)? = nil,
    activating activation: @escaping ActivationBody
  ) {
    self.init(name, timing, replaysLatest, clock, nil, holderObserver, .activation(activation))
  }

  private init(
    _ name: String, _ timing: LifecycleTiming, _ replaysLatest: Bool, _ clock: any MonotonicTimeSource,
    _ idleTimeoutPolicy: (any IdleTimeoutPolicy)?, _ holderObserver: (any HolderObserver)?, _ source: Source
  ) {
    self.name = name
    self.source = source
    self.clock = clock
    self.idleTimeoutPolicy = idleTimeoutPolicy
    broadcast = Broadcast(replaysLatest: replaysLatest)
    group = HolderGroup(name, observer: holderObserver)
    state = Guarded(State(machine: LifecycleMachine(timing: timing)), rank: .lifecycle)
    mutableActivity = MutableProperty(
      SourceActivity(phase: .idle, since: clock.now, reason: "no subscriber yet", subscriberCount: 0))
  }

  /// The state of the source. Reading it does not start the source.
  public var activity: Property<SourceActivity> { mutableActivity.readOnly }

  /// The holders that the source runs for, in the order in which they joined. Includes the subscribers of derived
  /// publishers.
  public var holders: [Holder] { group.list }

  /// Whether the publisher has a holder.
  public var isHeld: Bool { !group.isEmpty }

  /// The holders for whom the activation subscribes upstream.
  var forwardedHolders: Holders { Holders(group) }

  /// The latest value of the current run, if the publisher replays it. Reading it does not start the source.
  public var latest: Output? { broadcast.latest }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription {
    let receiver = Receiver(subscriber)
    let subscription = Subscription { [self] in cancel(receiver) }
    subscriber.receiveSubscription(subscription)
    var isTooLate = false
    transition { state, pending in
      // The subscriber may have cancelled while it received its subscription.
      if receiver.isCancelled { return .nothing }
      if state.machine.isShutDown {
        isTooLate = true
        return .nothing
      }
      let membership = group.add(receiver.holders)
      state.receivers.append(Registration(receiver: receiver, membership: membership))
      if broadcast.stage(adding: receiver) { pending.broadcast = true }
      let now = clock.now
      if state.receivers.count == 1 { idleTimeoutPolicy?.firstCame(membership.comer, at: now) }
      let effect = state.machine.subscribed(now, offEnd: offEnd)
      stageActivity(&state, &pending, "\(membership.comer.label) subscribed")
      return effect
    }
    if isTooLate { receiver.complete(.finished) }
    return subscription
  }

  /// The values while the source runs for other subscribers. Subscribing to this publisher neither starts the source
  /// nor keeps it running. The subscription lasts across runs, until the publisher completes its subscribers.
  ///
  /// ```swift
  /// let lease = receiver.fixes.observed.subscribe(as: "recorder", receiveValue: { record($0) })
  /// ```
  public var observed: Deferred<Output, Failure> {
    Deferred(attaching: { [broadcast] in broadcast.attach($0) })
  }

  /// Stops the source permanently, without an idle timeout and even if it has subscribers, because the process is about
  /// to end. Current subscribers finish once the source has left its scope, or immediately if it is not running or
  /// hangs; later ones finish immediately.
  ///
  /// - Parameter reason: the reason that `activity` shows
  public func shutDown(because reason: String = "the hub is shutting down") {
    transition { state, pending in
      let effect = state.machine.shutDown()
      // If the source has not left its scope yet, the subscribers finish when it does.
      let isOver = state.machine.state == .idle || state.machine.state == .stuck
      if isOver, finish(&state, .finished) { pending.broadcast = true }
      stageActivity(&state, &pending, reason)
      return effect
    }
  }

  /// Queues the completion of all subscribers. Returns whether it must be delivered.
  private func finish(_ state: inout State, _ completion: Completion<Failure>) -> Bool {
    for registration in state.receivers { group.remove(registration.membership) }
    state.receivers = []
    return broadcast.stage(completion)
  }

  private func cancel(_ receiver: Receiver<Output, Failure>) {
    guard receiver.cancel() else { return }
    transition { state, pending in
      guard broadcast.remove(receiver), let index = state.receivers.firstIndex(where: { $0.receiver === receiver })
      else {
        return .nothing
      }
      let membership = state.receivers.remove(at: index).membership
      group.remove(membership)
      let now = clock.now
      let leaver = membership.leaver
      var reason = "\(leaver.label) left"
      let effect = state.machine.unsubscribed(now) { usual in
        guard let idleTimeout = idleTimeoutPolicy?.lastLeft(leaver, at: now) else { return usual }
        if let why = idleTimeout.reason { reason = why }
        return idleTimeout.duration
      }
      stageActivity(&state, &pending, reason)
      return effect
    }
  }

  /// Asks the policy for the idle timeout again because its inputs have changed. Has an effect only during the
  /// source's idle timeout.
  public func reconsiderIdleTimeout() { reconsider { $0.reconsidered($1, idleTimeout: $2) } }

  /// Changes the timing from now on, and asks the policy for the idle timeout again. The current phase changes only if
  /// the source is in its idle timeout, or waits for its minimum time off.
  public func changeTiming(to timing: LifecycleTiming) {
    reconsider { $0.changeTiming(to: timing, $1, offEnd: self.offEnd, idleTimeout: $2) }
  }

  /// Asks the policy again how long the source must stay off, because the policy's inputs have changed.
  public func reconsiderOffTime() {
    transition { state, pending in
      let before = state.machine.state
      let effect = state.machine.reconsideredOffTime(clock.now, offEnd: offEnd)
      if state.machine.state != before { stageActivity(&state, &pending, "the minimum off time has passed") }
      return effect
    }
  }

  private func offEnd(_ usual: MonotonicInstant?) -> MonotonicInstant? {
    guard let idleTimeoutPolicy else { return usual }
    return idleTimeoutPolicy.offEnd(usual)
  }

  private func reconsider(
    _ change: (inout LifecycleMachine, MonotonicInstant, _ idleTimeout: () -> Duration?) -> LifecycleMachine.Effect
  ) {
    transition { state, pending in
      let now = clock.now
      var reason: String?
      let effect = change(&state.machine, now) {
        guard let idleTimeout = idleTimeoutPolicy?.reconsidered(at: now) else { return nil }
        reason = idleTimeout.reason ?? "no subscriber came back"
        return idleTimeout.duration
      }
      if effect != .nothing {
        stageActivity(&state, &pending, reason ?? "no subscriber came back", isNews: reason != nil)
      }
      return effect
    }
  }

  // MARK: The lifecycle

  /// Deliveries that were staged under the lock and must be made after it is released.
  private struct PendingDeliveries {
    var broadcast = false
    var activity = false
  }

  /// Changes the state under the lock, then makes the staged deliveries and carries out the machine's decision.
  private func transition(_ change: (inout State, inout PendingDeliveries) -> LifecycleMachine.Effect) {
    var pending = PendingDeliveries()
    var started: RunState?
    var stopped: RunState?
    var overtaken: ScheduledAction?
    var due: (deadline: MonotonicInstant, timer: Int)?
    state.withLock { state in
      switch change(&state, &pending) {
      case .nothing: break
      case .start(let run):
        broadcast.begin(generation: run)
        let sourceRun = RunState(id: run, isRead: source.isRead)
        state.run = sourceRun
        state.failure = nil
        started = sourceRun
        overtaken = state.timer
        state.timer = nil
      case .stop:
        stopped = state.run
        overtaken = state.timer
        state.timer = nil
        // A client that subscribes from here on waits for the next run, and must not receive values of this one.
        if let stopped { broadcast.begin(generation: -stopped.id) }
      case .wait(let deadline, let timer):
        overtaken = state.timer
        state.timer = nil
        due = (deadline, timer)
      case .cancelWait:
        overtaken = state.timer
        state.timer = nil
      }
    }
    overtaken?.cancel()
    if let due { schedule(due.timer, at: due.deadline) }
    if pending.activity { mutableActivity.deliver() }
    if pending.broadcast { broadcast.deliver() }
    if let started { start(started) }
    if let stopped { stop(stopped) }
  }

  /// Call this without the lock, because a clock may fire immediately. The machine recognizes an outdated timer by its
  /// number.
  private func schedule(_ timer: Int, at deadline: MonotonicInstant) {
    let scheduled = clock.schedule(at: deadline) { [self] in timerFired(timer) }
    let isOvertaken = state.withLock { state in
      guard state.machine.isWaiting(for: timer) else { return true }
      state.timer = scheduled
      return false
    }
    if isOvertaken { scheduled.cancel() }
  }

  private func timerFired(_ timer: Int) {
    transition { state, pending in
      let before = state.machine.state
      let effect = state.machine.timerFired(timer, clock.now, offEnd: offEnd)
      if state.machine.state != before {
        stageActivity(
          &state, &pending, before == .lingering ? "no subscriber came back" : "the minimum off time has passed")
      }
      return effect
    }
  }

  private func start(_ run: RunState) {
    switch source {
    case .body(let body, let lacking):
      func fail(_ errno: Int32, _ what: String) {
        ended(run, lacking(errno), failure: "cannot \(what): \(String(cString: strerror(errno)))")
      }
      guard let stop = run.stop, stop.fileDescriptor >= 0 else { return fail(EMFILE, "open a file descriptor") }
      let context = SourceContext(publisher: self, run: run, stop: stop)
      let error = DetachedThread.start(name) { [self] in
        do throws(Failure) {
          try body(context)
          ended(run, .finished)
        } catch {
          ended(run, .failed(error))
        }
      }
      if error != 0 { fail(error, "start a thread") }
    case .activation(let activation):
      do throws(Failure) {
        let held = try activation(ActivationContext(publisher: self, run: run))
        showedLife(run)
        if let end = run.hold(held) {
          held.cancel()
          end()
        }
      } catch {
        if case .begun(let subscriptions) = run.release(orElse: {}) {
          for subscription in subscriptions { subscription.cancel() }
        }
        ended(run, .failed(error))
      }
    }
  }

  private func stop(_ run: RunState) {
    switch source {
    case .body: run.stop?.set()
    case .activation: finish(run, .finished)
    }
  }

  /// Cancels the subscriptions of an activation, and announces the end only after that.
  func finish(_ run: RunState, _ completion: Completion<Failure>) {
    switch run.release(orElse: { [self] in ended(run, completion) }) {
    case .whole(let held):
      held.cancel()
      ended(run, completion)
    case .begun(let subscriptions):
      // The end is announced once the activation has returned. Until then its values are dropped.
      state.withLock { state in
        if state.run === run { broadcast.begin(generation: -run.id) }
      }
      for subscription in subscriptions { subscription.cancel() }
    case .nothing: break
    }
  }

  func switchedOn(_ run: RunState) {
    transition { state, pending in
      guard state.run === run else { return .nothing }
      let effect = state.machine.switchedOn(clock.now)
      // The idle timeout now ends later than `activity` has announced.
      if effect != .nothing { stageActivity(&state, &pending, "") }
      return effect
    }
  }

  func showedLife(_ run: RunState) {
    transition { state, pending in
      guard state.run === run else { return .nothing }
      let before = state.machine.state
      state.machine.showedLife()
      if state.machine.state != before { stageActivity(&state, &pending, "started") }
      return .nothing
    }
  }

  /// Declares a run hung: it counts as failed from now on. The next run starts once this one has left its scope.
  func hangs(_ run: RunState, _ failure: Failure) { fail(run, failure) { $0.hung() } }

  /// Ends a run that must begin again. It counts as failed if the source has subscribers.
  func interrupts(_ run: RunState, _ failure: Failure) { fail(run, failure) { $0.interrupted() } }

  private func fail(
    _ run: RunState, _ failure: Failure, _ change: (inout LifecycleMachine) -> LifecycleMachine.Effect
  ) {
    transition { state, pending in
      guard state.run === run else { return .nothing }
      let effect = change(&state.machine)
      guard effect != .nothing else { return .nothing }
      switch state.machine.state {
      case .stuck, .interrupted: (state.failure, state.hang) = ("\(failure)", failure)
      default: break
      }
      if state.machine.isShutDown, finish(&state, .finished) { pending.broadcast = true }
      stageActivity(&state, &pending, "\(failure)")
      return effect
    }
  }

  private func ended(_ run: RunState, _ completion: Completion<Failure>, failure: String? = nil) {
    transition { state, pending in
      guard state.run === run else { return .nothing }
      state.run = nil
      let (hasFailed, hasHung) = (state.hang != nil, state.machine.state == .stuck)
      let completion = state.hang.map { .failed($0) } ?? completion
      state.hang = nil
      let (endedByItself, isOverForAll, effect) = state.machine.ended(clock.now, offEnd: offEnd)
      // A failure after the source was told to stop is a consequence of stopping, and not of a defect of the device.
      if endedByItself, case .failed(let error) = completion { state.failure = "\(error)" }
      if let failure { state.failure = failure }
      // The call that hung has returned, or the interrupted run is over. Without subscribers, and after a shutdown, no new
      // attempt would replace the failure, so it is cleared here.
      let isFree = hasFailed && (state.receivers.isEmpty || !endedByItself)
      if isFree { state.failure = nil }
      if isOverForAll, finish(&state, endedByItself ? completion : .finished) { pending.broadcast = true }
      // Values that an ended source still sends are dropped.
      broadcast.begin(generation: -run.id)
      // A client that subscribed in the meantime starts the source again. Otherwise the source is idle, and the reason
      // is the one for which it was told to stop.
      let told = state.receivers.first.map { "\($0.membership.comer.label) subscribed" } ?? mutableActivity.value.reason
      let freed = hasHung ? "the call that hung has returned" : endedByItself ? "the interrupted run has ended" : told
      let reason = isFree ? freed : endedByItself ? "the source has ended" : told
      stageActivity(&state, &pending, state.failure ?? reason)
      return effect
    }
  }

  /// - Parameter isNews: whether to replace the reason even if the phase stays the same
  private func stageActivity(
    _ state: inout State, _ pending: inout PendingDeliveries, _ reason: String, isNews: Bool = false
  ) {
    let phase: SourceActivity.Phase =
      switch state.machine.state {
      case .idle: state.failure == nil ? .idle : .failed
      case .resting, .starting: .starting
      case .running: .running
      case .lingering: .lingering
      case .stopping: .stopping
      case .interrupted, .stuck: .failed
      }
    let before = mutableActivity.value
    let activity = SourceActivity(
      phase: phase, since: before.phase == phase ? before.since : clock.now,
      reason: before.phase == phase && phase != .failed && !isNews ? before.reason : reason,
      subscriberCount: state.receivers.count, until: phase == .lingering ? state.machine.lingersUntil : nil,
      isLeaving: state.machine.state == .interrupted)
    if activity != before, mutableActivity.stage(activity) { pending.activity = true }
  }

  // MARK: Sending

  func send(_ value: Output, _ run: RunState) {
    if run.isFirstSignOfLife { showedLife(run) }
    broadcast.send(value, generation: run.id)
  }

  func stage(_ value: Output, _ run: RunState) -> Bool {
    broadcast.stage(value, generation: run.id)
  }

  func deliver() { broadcast.deliver() }

  func forgetLatest(_ run: RunState) { broadcast.forgetLatest(generation: run.id) }
}
