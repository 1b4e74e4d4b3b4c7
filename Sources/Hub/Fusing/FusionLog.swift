import Fusion
import Guarding
import MonotonicTime
import Publishing

/// The only owner of the fusion. The log gives each input its instant and its place in the order, applies the input,
/// and passes it with its instant to observers of inputs.
///
/// One lock protects the order. States are staged under the lock, so that they leave in order. After the lock is
/// released, states are delivered and observers are called.
public final class FusionLog: Sendable {
  /// The shortest time between two inputs. It equals the precision of timestamps for clients, and keeps instants
  /// unique.
  private static let leastBetweenInputs = Duration.microseconds(1)

  private final class Observer: Sendable {
    let receive: @Sendable (FusionInput, MonotonicInstant) -> Void

    init(_ receive: @escaping @Sendable (FusionInput, MonotonicInstant) -> Void) { self.receive = receive }
  }

  private struct State {
    var fuser: Fuser
    /// The instant of the last input.
    var at: MonotonicInstant
    /// The destination of states.
    var run: ActivationContext<FusedState, Never>?
    /// Why each device is not fused, as last reported to its monitor, by place in the board's list.
    var told: [String?]
    /// The log of the next board; `nil` while this board is in service.
    var successor: FusionLog?
    var observers: [Observer] = []
    /// The last value of each part from before this run.
    var remembered: FusedState?

    /// Whether the log still takes an input. A log with a successor only ends its run.
    func takes(_ input: FusionInput) -> Bool {
      guard successor != nil else { return true }
      if case .end = input { return true }
      return false
    }
  }

  /// Actions for the time after the lock is released.
  private struct Pending {
    var at: MonotonicInstant
    /// The observers at the time when the input was applied, so that each state that leaves has its input observed.
    var observers: [Observer] = []
    var run: ActivationContext<FusedState, Never>?
    var hasLastState = false
    var hasFusionRun = false
    /// The device whose reason for not being fused has changed.
    var finding: (place: Int, text: String?)?
    /// Whether the fused epoch repeats the previous position; `nil` if no epoch was fused.
    var isRepetition: Bool?
  }

  private let clock: any MonotonicTimeSource
  private let lastState: MutableProperty<FusedState?>
  private let fusionRun: MutableProperty<FusionRun>
  private let lastTime: LastTime
  /// The monitors, by place in the board's list.
  private let monitors: [DeviceMonitor]
  private let state: Guarded<State>
  private let lifetime = Lifetime()

  /// - Parameters:
  ///   - monitors: the monitors of the board's devices, in the order of its list; told why a device is not fused
  ///   - lastState: set to each state
  ///   - fusionRun: set when a run begins or ends
  ///   - lastTime: the time that a receiver reported most recently, also in a previous hub of this process
  init(
    _ board: Board, monitors: [DeviceMonitor], clock: any MonotonicTimeSource,
    lastState: MutableProperty<FusedState?>, fusionRun: MutableProperty<FusionRun>, lastTime: LastTime
  ) {
    self.clock = clock
    self.monitors = monitors
    self.lastState = lastState
    self.fusionRun = fusionRun
    self.lastTime = lastTime
    state = Guarded(
      State(
        fuser: Fuser(board), at: lastState.value?.at ?? clock.now,
        told: Array(repeating: nil, count: board.devices.count)))
    // Measurements from before the machine was suspended do not describe the present.
    clock.onResume { [weak self] _ in self?.forget() }.store(in: lifetime)
  }

  /// The knowledge for the beginning of a run.
  private var knowledge: FusionKnowledge {
    FusionKnowledge(position: lastState.value?.position, time: lastTime.stated)
  }

  /// Whether a run is in progress.
  var isUnderWay: Bool { state.withLock { $0.fuser.isUnderWay } }

  /// The last value of each part from before the present run, however old. Each part has its date.
  var remembered: FusedState? { state.withLock { $0.remembered } }

  /// Sets the log of the next board, which takes over the clients and the recorder. From then on this log takes no more
  /// measurements, because the recorder may move to the next log before a client does, and would miss the inputs of
  /// that client's states.
  func isSucceeded(by successor: FusionLog) { state.withLock { $0.successor = successor } }

  /// Sends states to `run` from now on.
  func attach(_ run: ActivationContext<FusedState, Never>) { state.withLock { $0.run = run } }

  func detach() { state.withLock { $0.run = nil } }

  /// Begins a run, because a client wants states.
  func begin() { append(.begin(knowledge), readAt: clock.now) }

  /// Ends the run, because the last client has left.
  func end() { append(.end, readAt: clock.now) }

  /// Takes the next input.
  ///
  /// - Parameter instant: when the input was read; the input gets a later instant if another input already has this or
  ///   a later instant
  /// - Returns: whether the position of a fused epoch repeats the previous one
  @discardableResult
  func append(_ input: FusionInput, readAt instant: MonotonicInstant) -> Bool? {
    let pending = state.withLock { state -> Pending? in
      guard state.takes(input) else { return nil }
      state.at = max(instant, state.at + FusionLog.leastBetweenInputs)
      return apply(input, &state)
    }
    guard let pending else { return nil }
    finish(pending, input)
    return pending.isRepetition
  }

  /// Takes an input at a known instant, which must be later than that of the previous input.
  public func apply(_ input: FusionInput, at instant: MonotonicInstant) {
    let pending = state.withLock { state -> Pending? in
      guard state.takes(input) else { return nil }
      state.at = instant
      return apply(input, &state)
    }
    if let pending { finish(pending, input) }
  }

  private func apply(_ input: FusionInput, _ state: inout State) -> Pending {
    var pending = Pending(at: state.at, observers: state.observers)
    let isChange: Bool
    switch input {
    case .begin: isChange = true
    case .end:
      isChange = state.fuser.isUnderWay
      if isChange, let last = lastState.value { state.remembered = last.remembering(state.remembered) }
    default: isChange = false
    }
    let fused = state.fuser.apply(input, at: state.at)
    if isChange {
      pending.hasFusionRun = fusionRun.stage(FusionRun(isUnderWay: state.fuser.isUnderWay, since: state.at))
    }
    guard let fused else { return pending }
    // The clients have moved to the log of the next board, so this end does not mean that all devices sleep.
    if case .end = input, state.successor?.isUnderWay == true { return pending }
    pending.hasLastState = lastState.stage(fused)
    switch input {
    case .begin, .end: return pending
    case .epoch:
      lastTime.stated = state.fuser.statedTime
      pending.isRepetition = state.fuser.isRepetition
    case .imu(let place, _), .air(let place, _):
      let finding = state.fuser.finding(of: place)
      if finding != state.told[place] {
        state.told[place] = finding
        pending.finding = (place, finding)
      }
    case .field, .supply: break
    }
    if let run = state.run, run.stage(fused) { pending.run = run }
    return pending
  }

  private func finish(_ pending: Pending, _ input: FusionInput) {
    for observer in pending.observers { observer.receive(input, pending.at) }
    if pending.hasFusionRun { fusionRun.deliver() }
    if pending.hasLastState { lastState.deliver() }
    pending.run?.deliver()
    if let finding = pending.finding { monitors[finding.place].setWarning(about: .finding, finding.text) }
  }

  /// Passes each input with its instant to the observer, on the thread that took the input. Inputs may come slightly
  /// out of order, and the instants give the order. If a run is in progress, the observer first gets a `.begin`,
  /// because it does not have the earlier inputs.
  func observe(_ receive: @escaping @Sendable (FusionInput, MonotonicInstant) -> Void) -> Subscription {
    let observer = Observer(receive)
    let begin = state.withLock { state -> MonotonicInstant? in
      state.observers.append(observer)
      guard state.fuser.isUnderWay else { return nil }
      state.at = max(clock.now, state.at + FusionLog.leastBetweenInputs)
      return state.at
    }
    if let begin { receive(.begin(knowledge), begin) }
    return Subscription { [self] in state.withLock { $0.observers.removeAll { $0 === observer } } }
  }

  /// Forgets everything. A run in progress begins again, without any knowledge from before.
  func forget() {
    let now = clock.now
    let begin = FusionInput.begin(FusionKnowledge())
    // All this is one step, because the last client may leave at any moment, and a run without clients would not end.
    let (hasLastState, pending) = state.withLock { state -> (Bool, Pending?) in
      lastTime.stated = nil
      state.remembered = nil
      let hasLastState = lastState.stage(nil)
      guard state.fuser.isUnderWay, state.takes(begin) else { return (hasLastState, nil) }
      state.at = max(now, state.at + FusionLog.leastBetweenInputs)
      return (hasLastState, apply(begin, &state))
    }
    if hasLastState { lastState.deliver() }
    if let pending { finish(pending, begin) }
  }
}
