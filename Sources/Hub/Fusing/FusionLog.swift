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
  /// How long after the end of its validity a part counts as expired, so that rounding does not matter.
  private static let expiryMargin = Duration.milliseconds(1)

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
    /// The monitors, by place in the board's list.
    var monitors: [DeviceMonitor]
    /// The reasons why devices are not fused, as last reported to the devices' monitors.
    var told: [Finding] = []
    /// The number of the board in service. It shows whether an input comes from a device of an earlier board.
    var boardNumber = 0
    /// Whether boards are being exchanged, so that inputs are ignored.
    var isSuspended = false
    /// Whether a client wants states.
    var isWanted = false
    /// Whether a client wanted states when the exchange of boards began.
    var wasWanted = false
    /// Whether the run must begin again after the exchange of boards.
    var beginsAgain = false
    var observers: [Observer] = []
    /// The last value of each part of the state from before this run, or from before an expiry or the loss of the
    /// position in this run.
    var remembered: FusedState?
    /// Whether the last state had a position.
    var hadPosition = false
    /// The UTC time that a receiver reported most recently. The receiver may belong to an earlier board.
    var statedTime: FusionKnowledge.StatedTime?
    /// When everything was forgotten last.
    var forgottenAt: MonotonicInstant?

    init(_ board: Board, monitors: [DeviceMonitor], at instant: MonotonicInstant) {
      fuser = Fuser(board)
      at = instant
      self.monitors = monitors
    }

    /// The instant of the next input, if it was read at `instant`.
    func next(readAt instant: MonotonicInstant) -> MonotonicInstant {
      max(instant, at + FusionLog.leastBetweenInputs)
    }

    /// Switches to the devices of the next board. A finding about a device that is fused as before stays until an input
    /// withdraws it.
    ///
    /// - Returns: the findings to withdraw at once, because their devices are not fused any more
    mutating func follow(_ monitors: [DeviceMonitor], fusedBy fuser: Fuser) -> [Finding] {
      self.monitors = monitors
      let kept = told.filter { finding in monitors.contains { $0 === finding.monitor } }
      told = kept.filter { finding in
        monitors.indices.contains { monitors[$0] === finding.monitor && fuser.fuses($0) }
      }
      let fused = told
      return kept.filter { finding in !fused.contains { $0.monitor === finding.monitor } }.map {
        Finding(monitor: $0.monitor, subject: $0.subject, text: nil)
      }
    }
  }

  /// A changed reason why a device is not fused; `text` is `nil` if the device is fused again.
  private struct Finding {
    var monitor: DeviceMonitor
    var subject: DeviceWarnings.Subject
    var text: String?

    func report() { monitor.setWarning(about: subject, text) }
  }

  /// Actions for the time after the lock is released.
  private struct Pending {
    var at: MonotonicInstant
    /// The observers at the time when the input was applied. They get every input whose state is delivered.
    var observers: [Observer] = []
    var run: ActivationContext<FusedState, Never>?
    var hasLastState = false
    var hasFusionRun = false
    var finding: Finding?
    /// Whether the fused epoch repeats the previous position; `nil` if no epoch was fused.
    var isRepetition: Bool?
  }

  private let clock: any MonotonicTimeSource
  /// The last state, however old.
  let lastState = MutableProperty<FusedState?>(nil)
  /// Whether a client uses the fused state, and since when.
  let fusionRun: MutableProperty<FusionRun>
  private let state: Guarded<State>
  /// The alarm for the expiry after a failure; set only during a run, while a device fails.
  private let expiryAlarm: Alarm
  private let lifetime = Lifetime()

  /// - Parameters:
  ///   - monitors: the monitors of the board's devices, in the order of its list; the log tells them why a device is
  ///     not fused
  init(_ board: Board, monitors: [DeviceMonitor], clock: any MonotonicTimeSource) {
    self.clock = clock
    fusionRun = MutableProperty(FusionRun(isUnderWay: false, since: clock.now))
    state = Guarded(State(board, monitors: monitors, at: clock.now))
    expiryAlarm = Alarm(clock: clock)
    // Measurements from before the machine was suspended do not describe the present.
    clock.onResume { [weak self] _ in self?.forget() }.store(in: lifetime)
  }

  /// The last position and the last stated time, from which a run continues.
  private func knowledge(_ state: borrowing State) -> FusionKnowledge {
    let known = lastState.value.flatMap { $0.position == nil ? nil : $0 } ?? state.remembered
    // That state may be from an earlier board, which may have listed its devices in another order.
    let position = known.flatMap { $0.position?.named(in: state.fuser.names, from: $0.devices) }
    return FusionKnowledge(position: position, time: state.statedTime)
  }

  /// Whether a run is in progress.
  var isUnderWay: Bool { state.withLock { $0.fuser.isUnderWay } }

  /// The number of the board in service, for `append`.
  var boardNumber: Int { state.withLock { $0.boardNumber } }

  /// The last value of each part of the state from before the present run, or from before an expiry or the loss of the
  /// position in this run, however old. Each part has its date.
  var remembered: FusedState? { state.withLock { $0.remembered } }

  // MARK: The board

  /// Exchanges the board, and takes no input until `resume`. The run continues if the new board has the same settings
  /// for the fusion, and ends otherwise.
  ///
  /// - Parameters:
  ///   - continues: whether the fused devices are the same
  ///   - isSameSource: whether the last state still describes the next board, because it has the same receiver and
  ///     inertial sensor
  func suspend(for board: Board, monitors: [DeviceMonitor], continues: Bool, isSameSource: Bool) {
    let now = clock.now
    let fuser = Fuser(board)
    let (hasFusionRun, hasLastState, withdrawn) = state.withLock { state in
      (state.wasWanted, state.beginsAgain) = (state.isWanted, false)
      state.isSuspended = true
      state.boardNumber += 1
      let withdrawn = state.follow(monitors, fusedBy: fuser)
      if continues, fuser.isSetUp(like: state.fuser) { return (false, false, withdrawn) }
      let run = FusionRun(isUnderWay: false, since: max(now, state.at))
      let hasFusionRun = state.fuser.isUnderWay && fusionRun.stage(run)
      state.fuser = fuser
      state.remembered = isSameSource ? lastState.value?.remembering(state.remembered) : nil
      return (hasFusionRun, !isSameSource && lastState.stage(nil), withdrawn)
    }
    if hasFusionRun { fusionRun.deliver() }
    if hasLastState { lastState.deliver() }
    for finding in withdrawn { finding.report() }
  }

  /// Accepts inputs again. If a client wants states and the run has ended, another one begins.
  ///
  /// - Returns: whether a run has begun
  func resume() -> Bool {
    let now = clock.now
    let (begin, end) = state.withLock { state -> ((FusionInput, Pending)?, Pending?) in
      state.isSuspended = false
      guard state.isWanted || state.wasWanted else { return (nil, nil) }
      var begun: (FusionInput, Pending)?
      if !state.fuser.isUnderWay || state.beginsAgain {
        state.beginsAgain = false
        let begin = FusionInput.begin(knowledge(state))
        begun = (begin, append(begin, readAt: now, &state))
      }
      // If no client wants states any more, the last one left during the exchange of boards.
      return (begun, state.isWanted ? nil : append(.end, readAt: now, &state))
    }
    if let (input, pending) = begin { finish(pending, input) }
    if let end { finish(end, .end) }
    return begin != nil
  }

  // MARK: Inputs

  /// Sends states to `run` from now on.
  func attach(_ run: ActivationContext<FusedState, Never>) { state.withLock { $0.run = run } }

  func detach() { state.withLock { $0.run = nil } }

  /// Begins a run, because a client wants states.
  func begin() {
    let now = clock.now
    let begin = state.withLock { state -> (FusionInput, Pending)? in
      state.isWanted = true
      if state.isSuspended { return nil }
      let begin = FusionInput.begin(knowledge(state))
      return (begin, append(begin, readAt: now, &state))
    }
    if let (input, pending) = begin { finish(pending, input) }
  }

  /// Ends the run, because the last client has left.
  func end() {
    let now = clock.now
    let pending = state.withLock { state -> Pending? in
      state.isWanted = false
      return state.isSuspended ? nil : append(.end, readAt: now, &state)
    }
    if let pending { finish(pending, .end) }
    // An expiry is for the clients of a run.
    expiryAlarm.cancel()
  }

  /// Handles the failure of a device. If it was the last one that caused states, its values would stay in the last state
  /// for ever. So an expiry follows when they are too old, and makes one more state. An input that comes first makes the
  /// expiry unnecessary.
  ///
  /// - Parameter board: the number of the device's board
  func deviceFailed(of board: Int) {
    expiryAlarm.set(asking: {
      state.withLock { state in
        guard board == state.boardNumber, !state.isSuspended, let end = state.fuser.validUntil,
          let last = lastState.value, last.mode != .none
        else { return nil }
        return end + FusionLog.expiryMargin
      }
    }) { [weak self] in self?.expire() }
  }

  /// Adds an expiry, if the mode of its state is not that of the last state.
  private func expire() {
    let now = clock.now
    let pending = state.withLock { state -> Pending? in
      guard state.fuser.isUnderWay, !state.isSuspended, let last = lastState.value,
        state.fuser.mode(at: state.next(readAt: now)) != last.mode
      else { return nil }
      return append(.expiry, readAt: now, &state)
    }
    if let pending { finish(pending, .expiry) }
  }

  /// Processes the next input of a device.
  ///
  /// - Parameters:
  ///   - instant: when the input was read; the input gets a later instant if another input already has this or a later
  ///     instant
  ///   - board: the number of the device's board; inputs of an earlier board's devices are ignored
  /// - Returns: whether the position of a fused epoch repeats the previous one
  @discardableResult
  func append(_ input: FusionInput, readAt instant: MonotonicInstant, of board: Int) -> Bool? {
    let pending = state.withLock { state -> Pending? in
      guard board == state.boardNumber, !state.isSuspended else { return nil }
      // A reader may learn later than the fusion that the machine was suspended. The clock did not advance during the
      // suspension, so the reader's last value seems new.
      if let forgottenAt = state.forgottenAt, instant < forgottenAt { return nil }
      return append(input, readAt: instant, &state)
    }
    guard let pending else { return nil }
    finish(pending, input)
    return pending.isRepetition
  }

  private func append(_ input: FusionInput, readAt instant: MonotonicInstant, _ state: inout State) -> Pending {
    state.at = state.next(readAt: instant)
    return apply(input, &state)
  }

  /// Processes an input of a recording at a known instant, which must be later than that of the previous input.
  public func apply(_ input: FusionInput, at instant: MonotonicInstant) {
    let pending = state.withLock { state in
      state.at = instant
      return apply(input, &state)
    }
    finish(pending, input)
  }

  private func apply(_ input: FusionInput, _ state: inout State) -> Pending {
    var pending = Pending(at: state.at, observers: state.observers)
    let fused = state.fuser.apply(input, at: state.at)
    let isChange =
      switch input {
      case .begin: true
      case .end: fused != nil
      default: false
      }
    if isChange {
      pending.hasFusionRun = fusionRun.stage(FusionRun(isUnderWay: state.fuser.isUnderWay, since: state.at))
    }
    guard let fused else { return pending }
    let isLoss =
      switch input {
      case .end, .expiry: true
      default: state.hadPosition && fused.position == nil
      }
    if isLoss, let last = lastState.value { state.remembered = last.remembering(state.remembered) }
    state.hadPosition = fused.position != nil
    pending.hasLastState = lastState.stage(fused)
    switch input {
    case .begin, .end: return pending
    case .epoch(let place, _):
      state.statedTime = state.fuser.statedTime
      pending.isRepetition = state.fuser.isRepetition
      // A receiver whose headings are wrong is still fused, so the warning is about its headings only.
      pending.finding = FusionLog.news(of: place, about: .heading, &state)
    case .imu(let place, _), .air(let place, _): pending.finding = FusionLog.news(of: place, about: .finding, &state)
    case .field, .supply, .expiry: break
    }
    if let run = state.run, run.stage(fused) { pending.run = run }
    return pending
  }

  /// The finding about a device; `nil` if it is the one that was last reported.
  private static func news(of place: Int, about subject: DeviceWarnings.Subject, _ state: inout State) -> Finding? {
    let finding = Finding(monitor: state.monitors[place], subject: subject, text: state.fuser.finding(of: place))
    let index = state.told.firstIndex { $0.monitor === finding.monitor }
    if finding.text == index.flatMap({ state.told[$0].text }) { return nil }
    if let index { state.told.remove(at: index) }
    if finding.text != nil { state.told.append(finding) }
    return finding
  }

  private func finish(_ pending: Pending, _ input: FusionInput) {
    for observer in pending.observers { observer.receive(input, pending.at) }
    if pending.hasFusionRun { fusionRun.deliver() }
    if pending.hasLastState { lastState.deliver() }
    pending.run?.deliver()
    pending.finding?.report()
  }

  /// Passes each input with its instant to the observer, on the thread that took the input. Inputs may come slightly
  /// out of order, and the instants give the order. If a run is in progress, the observer first gets a `.begin`,
  /// because it does not have the earlier inputs.
  ///
  /// - Parameter hasEarlier: whether the observer has all earlier inputs of the run
  func observe(
    hasEarlier: Bool = false, _ receive: @escaping @Sendable (FusionInput, MonotonicInstant) -> Void
  ) -> Subscription {
    let observer = Observer(receive)
    let begin = state.withLock { state -> (FusionInput, MonotonicInstant)? in
      state.observers.append(observer)
      guard state.fuser.isUnderWay, !hasEarlier else { return nil }
      state.at = state.next(readAt: clock.now)
      return (.begin(knowledge(state)), state.at)
    }
    if let (input, instant) = begin { receive(input, instant) }
    return Subscription { [self] in state.withLock { $0.observers.removeAll { $0 === observer } } }
  }

  /// Forgets everything. A run in progress begins again, without any knowledge from before.
  func forget() {
    let now = clock.now
    let begin = FusionInput.begin(FusionKnowledge())
    // All this is one step, because the last client may leave at any moment, and a run without clients would not end.
    let (hasLastState, pending) = state.withLock { state -> (Bool, Pending?) in
      state.statedTime = nil
      state.remembered = nil
      state.forgottenAt = now
      let hasLastState = lastState.stage(nil)
      guard state.fuser.isUnderWay else { return (hasLastState, nil) }
      if state.isSuspended {
        state.beginsAgain = true
        return (hasLastState, nil)
      }
      return (hasLastState, append(begin, readAt: now, &state))
    }
    if hasLastState { lastState.deliver() }
    if let pending { finish(pending, begin) }
  }
}
