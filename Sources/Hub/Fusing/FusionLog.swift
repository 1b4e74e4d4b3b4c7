import Fusion
import Guarding
import MonotonicTime
import Publishing

/// The one owner of the fusion. It gives each input its instant and its place in the order, applies it, and hands the same input
/// with its instant to those who observe inputs.
///
/// All of that order is made under one lock. States are staged under it, so that they leave in the order in which they came about;
/// they are delivered, and observers are called, once it is free.
public final class FusionLog: Sendable {
  /// Instants are as exact as stamps are given to clients, and no two inputs have the same.
  private static let leastBetweenInputs = Duration.microseconds(1)

  private final class Observer: Sendable {
    let receive: @Sendable (FusionInput, MonotonicInstant) -> Void

    init(_ receive: @escaping @Sendable (FusionInput, MonotonicInstant) -> Void) { self.receive = receive }
  }

  private struct State {
    var fuser: Fuser
    /// That of the last input.
    var at: MonotonicInstant
    /// Where states are sent.
    var run: Activating<FusedState, Never>?
    /// By place in the board's list, the last reported reason of a device.
    var told: [String?]
    /// The log of the next board.
    var successor: FusionLog?
    /// The last of each part that runs before this one measured.
    var remembered: FusedState?
  }

  /// Actions for the time after the lock is released.
  private struct Pending {
    var at: MonotonicInstant
    var run: Activating<FusedState, Never>?
    var hasLastState = false
    var hasFusionRun = false
    /// The device whose reason for not being fused has changed.
    var finding: (place: Int, text: String?)?
    /// Whether the fused epoch repeats the position of the one before; `nil` if none was fused.
    var isRepetition: Bool?
  }

  private let clock: any MonotonicTimeSource
  private let lastState: MutableProperty<FusedState?>
  private let fusionRun: MutableProperty<FusionRun>
  private let lastTime: LastTime
  /// By place in the board's list.
  private let monitors: [DeviceMonitor]
  private let state: Guarded<State>
  private let observers = Guarded<[Observer]>([])
  private let lifetime = Lifetime()

  /// - Parameters:
  ///   - monitors: of the board's devices, in the order of its list; notified why a device is not fused
  ///   - lastState: set to each state too
  ///   - fusionRun: set when a run begins or ends
  ///   - lastTime: the receivers' last statement of the time, across runs and boards
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
    // Nothing that was measured before the machine was suspended is of now.
    clock.onResume { [weak self] _ in self?.forget() }.store(in: lifetime)
  }

  /// The knowledge at the beginning of a run.
  private var knowledge: FusionKnowledge {
    FusionKnowledge(position: lastState.value?.position, time: lastTime.stated)
  }

  /// Whether a run is under way.
  var isUnderWay: Bool { state.withLock { $0.fuser.isUnderWay } }

  /// The last of each part that was measured before the run that is under way, however long ago; its date says when.
  var remembered: FusedState? { state.withLock { $0.remembered } }

  /// Clients go over to the log of the next board.
  func isSucceeded(by successor: FusionLog) { state.withLock { $0.successor = successor } }

  /// Sends the states from here on; those of one run at a time.
  func attach(_ run: Activating<FusedState, Never>) { state.withLock { $0.run = run } }

  func detach() { state.withLock { $0.run = nil } }

  /// A client wants states.
  func begin() { append(.begin(knowledge), readAt: clock.now) }

  /// The last client has left.
  func end() { append(.end, readAt: clock.now) }

  /// Takes the next input.
  ///
  /// - Parameter instant: when it was read. It counts as of then, unless another input counts as of that instant or a later one
  /// - Returns: of an epoch that was fused, whether its position repeats the one before
  @discardableResult
  func append(_ input: FusionInput, readAt instant: MonotonicInstant) -> Bool? {
    let pending = state.withLock { state in
      state.at = max(instant, state.at + FusionLog.leastBetweenInputs)
      return apply(input, &state)
    }
    finish(pending, input)
    return pending.isRepetition
  }

  /// Takes an input whose instant is known: later than that of the input before.
  public func apply(_ input: FusionInput, at instant: MonotonicInstant) {
    let pending = state.withLock { state in
      state.at = instant
      return apply(input, &state)
    }
    finish(pending, input)
  }

  private func apply(_ input: FusionInput, _ state: inout State) -> Pending {
    var pending = Pending(at: state.at)
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
    // The clients have gone over to the next board's, which knows better than that all sleep.
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
    for observer in observers.withLock({ $0 }) { observer.receive(input, pending.at) }
    if pending.hasFusionRun { fusionRun.deliver() }
    if pending.hasLastState { lastState.deliver() }
    pending.run?.deliver()
    if let finding = pending.finding { monitors[finding.place].remark(on: .finding, finding.text) }
  }

  /// Passes each input with its instant to the observer, on the thread that took it. Inputs may come slightly out of
  /// order: the instants give the order. If a run is in progress, the first input is its beginning as of now, because
  /// the observer does not know the earlier inputs.
  func observe(_ receive: @escaping @Sendable (FusionInput, MonotonicInstant) -> Void) -> Subscription {
    let observer = Observer(receive)
    let begin = state.withLock { state -> MonotonicInstant? in
      observers.withLock { $0.append(observer) }
      guard state.fuser.isUnderWay else { return nil }
      state.at = max(clock.now, state.at + FusionLog.leastBetweenInputs)
      return state.at
    }
    if let begin { receive(.begin(knowledge), begin) }
    return Subscription { [self] in observers.withLock { $0.removeAll { $0 === observer } } }
  }

  /// Knows nothing any more. A run that is under way begins again.
  func forget() {
    lastTime.stated = nil
    lastState.value = nil
    state.withLock { $0.remembered = nil }
    if isUnderWay { begin() }
  }
}
