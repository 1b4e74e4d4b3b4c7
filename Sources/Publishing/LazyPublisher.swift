import Guarding
import CLinux
import MonotonicTime
import Synchronization

/// A hot publisher whose source runs only while somebody subscribes.
///
/// The first subscriber starts the source, the last one leaving stops it, after an optional linger; runs never overlap.
/// All subscribers share one run and get the same values in the same order from the moment they joined. A failure
/// completes every subscriber and leaves the publisher ready to start afresh.
///
/// A source is one scope: what it switches on it switches off before it returns or throws, and that is the whole of
/// the promise that a device without subscribers has no power.
///
/// A value costs one uncontended lock and no allocation, however many subscribers there are.
public final class LazyPublisher<Output: Sendable, Failure: Error>: Publisher {
  /// Reads until `Reading.stop` is set, on a thread of its own.
  public typealias Body = @Sendable (Reading<Output, Failure>) throws(Failure) -> Void
  /// Sets up what the publisher derives its values from, and returns how to take it down.
  public typealias Activation = @Sendable (Activating<Output, Failure>) throws(Failure) -> Subscription

  private enum Source: Sendable {
    case body(Body)
    case activation(Activation)

    var isRead: Bool { if case .body = self { true } else { false } }
  }

  private struct State {
    var machine: LifecycleMachine
    var receivers: [Receiver<Output, Failure>] = []
    var run: SourceRun?
    var timer: ScheduledAction?
    var failure: String?
  }

  public let name: String
  private let source: Source
  private let clock: any MonotonicTimeSource
  private let broadcast: Broadcast<Output, Failure>
  private let state: Guarded<State>
  private let mutableActivity: MutableProperty<Activity>

  /// A publisher of what `body` reads on a thread of its own.
  ///
  /// - Parameters:
  ///   - name: names the thread and stands in messages
  ///   - replaysLatest: whether a new subscriber first gets the latest value of the current run
  ///   - body: powers the device, reads until told to stop, and powers down on every way out
  public convenience init(
    _ name: String, timing: LifecycleTiming = LifecycleTiming(), replaysLatest: Bool = false,
    clock: any MonotonicTimeSource = MonotonicClock(), reading body: @escaping Body
  ) {
    self.init(name, timing, replaysLatest, clock, .body(body))
  }

  /// A publisher derived from others: active from `activation` until what it returned is cancelled.
  public convenience init(
    _ name: String, timing: LifecycleTiming = LifecycleTiming(), replaysLatest: Bool = false,
    clock: any MonotonicTimeSource = MonotonicClock(), activating activation: @escaping Activation
  ) {
    self.init(name, timing, replaysLatest, clock, .activation(activation))
  }

  private init(
    _ name: String, _ timing: LifecycleTiming, _ replaysLatest: Bool, _ clock: any MonotonicTimeSource, _ source: Source
  ) {
    self.name = name
    self.source = source
    self.clock = clock
    broadcast = Broadcast(replaysLatest: replaysLatest)
    state = Guarded(State(machine: LifecycleMachine(timing: timing)))
    mutableActivity = MutableProperty(
      Activity(phase: .idle, since: clock.now, reason: "nobody has subscribed yet", holders: []))
  }

  /// What the source is doing, and for whom. Reading it starts nothing.
  public var activity: Property<Activity> { mutableActivity.readOnly }

  public func attach(_ subscriber: Subscriber<Output, Failure>) -> Subscription {
    let receiver = Receiver(subscriber)
    let subscription = Subscription { [self] in cancel(receiver) }
    subscriber.receiveSubscription(subscription)
    var isTooLate = false
    transition { state, pending in
      // The subscriber may have thought better of it while it received its subscription.
      if receiver.isCancelled { return .nothing }
      if state.machine.isShutDown {
        isTooLate = true
        return .nothing
      }
      state.receivers.append(receiver)
      if broadcast.stage(adding: receiver) { pending.broadcast = true }
      let effect = state.machine.subscribed(clock.now)
      stageActivity(&state, &pending, "\(receiver.name) subscribed")
      return effect
    }
    if isTooLate { receiver.complete(.finished) }
    return subscription
  }

  /// Stops the source for good, whoever listens, without lingering: the process is about to end. Subscribers are
  /// finished once the source has left its scope, later ones at once.
  public func shutDown() {
    transition { state, pending in
      let effect = state.machine.shutDown()
      stageActivity(&state, &pending, "the hub is shutting down")
      return effect
    }
  }

  private func cancel(_ receiver: Receiver<Output, Failure>) {
    guard receiver.cancel() else { return }
    transition { state, pending in
      guard broadcast.remove(receiver) else { return .nothing }
      state.receivers.removeAll { $0 === receiver }
      let effect = state.machine.unsubscribed(clock.now)
      stageActivity(&state, &pending, "\(receiver.name) left")
      return effect
    }
  }

  // MARK: The lifecycle

  /// Deliveries staged under the lock, made once it is free.
  private struct PendingDeliveries {
    var broadcast = false
    var activity = false
  }

  /// Changes the state under the lock, then delivers what was staged and does what the machine decided.
  private func transition(_ change: (inout State, inout PendingDeliveries) -> LifecycleMachine.Effect) {
    var pending = PendingDeliveries()
    var started: SourceRun?
    var stopped: SourceRun?
    var overtaken: ScheduledAction?
    var due: (deadline: MonotonicInstant, timer: Int)?
    state.withLock { state in
      switch change(&state, &pending) {
      case .nothing: break
      case .start(let run):
        broadcast.begin(generation: run)
        let sourceRun = SourceRun(id: run, isRead: source.isRead)
        state.run = sourceRun
        state.failure = nil
        started = sourceRun
        overtaken = state.timer
        state.timer = nil
      case .stop:
        stopped = state.run
        state.timer = nil
        // Whoever subscribes from here on waits for the next run, and must not see what this one still sends.
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

  /// Not under the lock: a clock may fire at once. The machine knows a timer that it has given up by its number.
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
      let effect = state.machine.timerFired(timer, clock.now)
      if state.machine.state != before {
        stageActivity(
          &state, &pending, before == .lingering ? "nobody came back" : "the minimum time off has passed")
      }
      return effect
    }
  }

  private func start(_ run: SourceRun) {
    switch source {
    case .body(let body):
      guard let stop = run.stop, stop.fileDescriptor >= 0 else {
        return ended(run, .finished, failure: "no file descriptor left for the stop signal")
      }
      let reading = Reading(publisher: self, run: run, stop: stop)
      let error = DetachedThread.start(name) { [self] in
        do throws(Failure) {
          try body(reading)
          ended(run, .finished)
        } catch {
          ended(run, .failed(error))
        }
      }
      if error != 0 { ended(run, .finished, failure: "no thread to read on: \(String(cString: strerror(error)))") }
    case .activation(let activation):
      do throws(Failure) {
        let held = try activation(Activating(publisher: self, run: run))
        showedLife(run)
        if let end = run.hold(held) {
          held.cancel()
          end()
        }
      } catch {
        ended(run, .failed(error))
      }
    }
  }

  private func stop(_ run: SourceRun) {
    switch source {
    case .body: run.stop?.set()
    case .activation: finish(run, .finished)
    }
  }

  /// Takes down what an activation set up, and only then says that it has ended.
  fileprivate func finish(_ run: SourceRun, _ completion: Completion<Failure>) {
    guard let held = run.release(orElse: { [self] in ended(run, completion) }) else { return }
    held.cancel()
    ended(run, completion)
  }

  fileprivate func showedLife(_ run: SourceRun) {
    transition { state, pending in
      guard state.run === run else { return .nothing }
      let before = state.machine.state
      state.machine.showedLife()
      if state.machine.state != before { stageActivity(&state, &pending, "started") }
      return .nothing
    }
  }

  private func ended(_ run: SourceRun, _ completion: Completion<Failure>, failure: String? = nil) {
    transition { state, pending in
      guard state.run === run else { return .nothing }
      state.run = nil
      let (endedByItself, effect) = state.machine.ended(clock.now)
      var reason = endedByItself ? "the source has ended" : "stopped"
      if case .failed(let error) = completion { state.failure = "\(error)" }
      if let failure { state.failure = failure }
      if let failure = state.failure { reason = failure }
      if endedByItself {
        state.receivers = []
        if broadcast.stage(completion) { pending.broadcast = true }
      }
      // What an ended source still sends goes nowhere.
      broadcast.begin(generation: -run.id)
      stageActivity(&state, &pending, reason)
      return effect
    }
  }

  private func stageActivity(_ state: inout State, _ pending: inout PendingDeliveries, _ reason: String) {
    let phase: Activity.Phase =
      switch state.machine.state {
      case .idle: state.failure == nil ? .idle : .failed
      case .resting, .starting: .starting
      case .running: .running
      case .lingering: .lingering
      case .stopping: .stopping
      }
    let before = mutableActivity.value
    let activity = Activity(
      phase: phase, since: before.phase == phase ? before.since : clock.now,
      reason: before.phase == phase && phase != .failed ? before.reason : reason,
      holders: state.receivers.map(\.name))
    if activity != before, mutableActivity.stage(activity) { pending.activity = true }
  }

  // MARK: Sending

  fileprivate func send(_ value: Output, _ run: SourceRun) {
    if run.isFirstSignOfLife { showedLife(run) }
    broadcast.send(value, generation: run.id)
  }

  fileprivate func stage(_ value: Output, _ run: SourceRun) -> Bool {
    broadcast.stage(value, generation: run.id)
  }

  fileprivate func deliver() { broadcast.deliver() }
}

/// One run of a source.
private final class SourceRun: Sendable {
  private enum State {
    case activating
    case active(Subscription)
    /// Stopped or finished before the activation returned: the action is due once it has.
    case overtaken(then: @Sendable () -> Void)
    case released
  }

  let id: Int
  /// Only a source that is read from needs one.
  let stop: StopSignal?
  private let hasShownLife = Atomic(false)
  private let state = Guarded(State.activating)

  init(id: Int, isRead: Bool) {
    self.id = id
    stop = isRead ? StopSignal() : nil
  }

  var isFirstSignOfLife: Bool {
    // The plain load keeps the cache line shared: this is asked for every value.
    if hasShownLife.load(ordering: .relaxed) { return false }
    return !hasShownLife.exchange(true, ordering: .relaxed)
  }

  /// Takes what the activation returned. Where the run is over already, returns the action that is due once the
  /// caller has cancelled it.
  func hold(_ held: Subscription) -> (@Sendable () -> Void)? {
    state.withLock { state in
      switch state {
      case .activating:
        state = .active(held)
        return nil
      case .overtaken(let then):
        state = .released
        return then
      case .active, .released: return nil
      }
    }
  }

  /// Returns what is held, once. Where the activation has not returned yet, `action` will follow its return.
  func release(orElse action: @escaping @Sendable () -> Void) -> Subscription? {
    state.withLock { state in
      switch state {
      case .active(let held):
        state = .released
        return held
      case .activating:
        state = .overtaken(then: action)
        return nil
      case .overtaken, .released: return nil
      }
    }
  }
}

/// What a source's body is given: where to send, and when to stop.
public struct Reading<Output: Sendable, Failure: Error>: Sendable {
  fileprivate let publisher: LazyPublisher<Output, Failure>
  fileprivate let run: SourceRun

  /// Set when the body is to return, after its last subscriber has left.
  public let stop: StopSignal

  /// Hands a value to the subscribers, on this thread.
  public func send(_ value: Output) { publisher.send(value, run) }

  /// Says that the source is up before it has a value to send.
  public func started() { if run.isFirstSignOfLife { publisher.showedLife(run) } }
}

/// What an activation is given: where to send, and how to end.
public struct Activating<Output: Sendable, Failure: Error>: Sendable {
  fileprivate let publisher: LazyPublisher<Output, Failure>
  fileprivate let run: SourceRun

  /// Hands a value to the subscribers, on this thread.
  public func send(_ value: Output) { publisher.send(value, run) }

  /// Ends the run: drops what it holds, then completes every subscriber.
  public func finish(_ completion: Completion<Failure>) { publisher.finish(run, completion) }

  /// Queues a value from under a lock of the caller's, so that the order of the values is that of the lock; returns
  /// whether `deliver` must follow once the lock is free.
  public func stage(_ value: Output) -> Bool { publisher.stage(value, run) }

  /// Delivers what was staged, on this thread.
  public func deliver() { publisher.deliver() }
}
