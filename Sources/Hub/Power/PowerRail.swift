import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// A switched supply and the devices on it. The supply is on as long as a device needs it. It stays on longer if a
/// sleeping device needs it, or if the minimum time on has not passed.
///
/// A rail does not depend on board files, and outlives them. `RailMachine` makes the decisions. Driving a line may
/// hang, so it happens outside all locks. The thread that drives the line owns it until it reports the result. The
/// timers' thread drives nothing.
public final class PowerRail: Sendable {
  public struct Supply: Equatable, Sendable {
    public var isOn: Bool
    /// The IDs of the devices that need the supply, in the order of their requests.
    public var users: [String]
    /// The IDs of sleeping devices, which no client needs, but which need the supply for their sleep.
    public var sleepers: [String] = []
    /// When the supply was switched on, or off; `nil` if it has been off since before the hub began.
    public var since: MonotonicInstant?
    /// Why the line could not be driven low. The supply then counts as on, and the rail tries again until the line is
    /// low.
    public var problem: HardwareError?
    /// Whether a thread drives the line at present.
    var isBeingSwitched = false
  }

  private struct State {
    var machine: RailMachine
    /// The requested line, from the first time it is driven high until it is low; `nil` while a thread drives it.
    var output: (any GPIOOutput)?
    /// The signals to raise when the supply has changed.
    var waiting: [WakeSignal] = []
  }

  public let `switch`: Board.Power.Switch
  private let hardware: any Hardware
  private let clock: any MonotonicTimeSource
  private let state: Guarded<State>
  private let property: MutableProperty<Supply>
  private let alarm: Alarm
  private let lifetime = Lifetime()

  init(_ switch: Board.Power.Switch, hardware: any Hardware, clock: any MonotonicTimeSource) {
    self.switch = `switch`
    self.hardware = hardware
    self.clock = clock
    let machine = RailMachine(isSwitched: `switch` != .none, now: clock.now)
    state = Guarded(State(machine: machine), rank: .powerRail)
    property = MutableProperty(machine.supply)
    alarm = Alarm(clock: clock)
    clock.onResume { [weak self] slept in self?.change { $0.machine.resume(after: slept) } }.store(in: lifetime)
  }

  deinit {
    lifetime.end()
    alarm.end()
    try? state.withLock { $0.output }?.close()
  }

  /// The state of the supply and its users. A subscription switches nothing.
  public var supply: Property<Supply> { property.readOnly }

  /// The name for people.
  var name: String { if case .gpio(let line, _) = `switch` { "power line \(line)" } else { "permanent supply" } }

  /// Whether the line has ever been driven.
  var hasBeenDriven: Bool { state.withLock { $0.machine.hasBeenDriven } }

  /// Whether the supply is on for this user only, so that its release would switch the supply off. No other
  /// device, awake or asleep, needs the supply.
  func isOn(forAlone user: String) -> Bool {
    state.withLock { state in
      let supply = state.machine.supply
      return supply.isOn && supply.users == [user] && supply.sleepers.isEmpty
    }
  }

  /// Whether the supply stays on during the rest of a device that does not need it: the supply has no switch, or is on
  /// for other devices.
  var outlastsRests: Bool {
    state.withLock { state in
      let supply = state.machine.supply
      return `switch` == .none || supply.isOn && !(supply.users.isEmpty && supply.sleepers.isEmpty)
    }
  }

  /// Records when a previous run of the hub switched the supply off, so that the minimum off time counts from then.
  func wasOff(since instant: MonotonicInstant) { change { $0.machine.wasOff(since: instant) } }

  /// The time until which the supply must stay off; `nil` if it is on, or has been off since before the hub began.
  func offEnd(_ minimumOff: Duration) -> MonotonicInstant? { state.withLock { $0.machine.offEnd(minimumOff) } }
}

// MARK: On

extension PowerRail {
  /// Switches the supply on for a device until `release`.
  ///
  /// - Parameters:
  ///   - minimumOff: the minimum time off before the supply is switched on
  ///   - minimumOn: the minimum time on, also after `release`
  ///   - poller: ends the wait early when the reader is told to stop
  /// - Returns: the time since which the supply is on; `nil` if the reader was told to stop first
  func require(
    for user: String, after minimumOff: Duration, atLeast minimumOn: Duration = .zero, _ poller: Poller
  ) throws(HardwareError) -> MonotonicInstant? {
    var busyLimit: MonotonicInstant?
    while true {
      let news = WakeSignal()
      let answer = change { state in
        let answer = state.machine.require(for: user, minimumOff: minimumOff, minimumOn: minimumOn, clock.now)
        if answer.mustWait { state.waiting.append(news) }
        return answer
      }
      switch answer {
      case .granted(let since): return since
      case .driveHigh: return try driveHigh(for: user, minimumOn)
      case .busy:
        let limit = busyLimit ?? clock.now + PowerRail.patience
        busyLimit = limit
        guard clock.now < limit else {
          state.withLock { $0.waiting.removeAll { $0 === news } }
          throw .stuck(name)
        }
        if wait(for: news, until: limit, poller) == .stopped { return nil }
      case .rest(let end):
        busyLimit = nil
        if wait(for: news, until: end, poller) == .stopped { return nil }
      }
    }
  }

  /// The longest time that another thread may drive the line before it counts as hanging.
  private static let patience = Duration.seconds(2)

  private func wait(for news: WakeSignal, until end: MonotonicInstant, _ poller: Poller) -> Poller.Event {
    let timer = clock.schedule(at: end) { news.raise() }
    defer {
      timer.cancel()
      state.withLock { $0.waiting.removeAll { $0 === news } }
    }
    // Without a descriptor, this thread asks again each second.
    let descriptor = news.fileDescriptor < 0 ? nil : news.fileDescriptor
    return poller.wait(for: descriptor, atMost: descriptor == nil ? .seconds(1) : .seconds(3600))
  }

  private func driveHigh(for user: String, _ minimumOn: Duration) throws(HardwareError) -> MonotonicInstant? {
    guard case .gpio(let name, let activeLow) = `switch` else { return clock.now }
    var output = takeOutput()
    var (result, failure): (RailMachine.HighResult, HardwareError?) = (.high, nil)
    do throws(HardwareError) {
      let line = if let output { output } else { try hardware.gpioOutput(name, activeLow: activeLow) }
      output = line
      try line.set(true)
    } catch {
      failure = error
      if output == nil {
        result = .unopened
      } else {
        let low = driveLow(output)
        output = low.kept
        result = low.problem.map { .unknown($0) } ?? .low
      }
    }
    let kept = output
    let (onSince, effect) = change { state in
      state.output = kept
      return state.machine.droveHigh(for: user, minimumOn: minimumOn, result, clock.now)
    }
    perform(effect)
    if let failure { throw failure }
    return onSince
  }

  private func takeOutput() -> (any GPIOOutput)? {
    state.withLock { state in
      defer { state.output = nil }
      return state.output
    }
  }
}

// MARK: Off

extension PowerRail {
  /// Ends a device's use of the supply, which `require` began. If this was the last user, the line is driven low on
  /// this thread. This happens later if a sleeping device needs the supply, or if the minimum time on has not passed.
  /// Does nothing for a device that is not a user.
  func release(for user: String) { perform(change { $0.machine.release(for: user, clock.now) }) }

  /// Takes the supply from a device, whatever its reader is doing, even before the minimum time on has passed. Returns
  /// at once.
  func cut(for user: String) { performElsewhere(change { $0.machine.cut(for: user, clock.now) }) }

  /// The time in which a supply's capacitors discharge.
  private static let leastOff = Duration.milliseconds(200)

  /// Switches the supply off and on again for one of its users, unless it is on for other users as well.
  ///
  /// - Parameters:
  ///   - minimumOff: the minimum time off
  ///   - poller: ends the wait early when the reader is told to stop
  /// - Returns: the time since which the supply is on; `nil` if the reader was told to stop, which ends its use
  func cycle(
    for user: String, off minimumOff: Duration, atLeast minimumOn: Duration, _ poller: Poller
  ) throws(HardwareError) -> MonotonicInstant? {
    perform(change { $0.machine.release(for: user, early: true, clock.now) })
    return try require(for: user, after: max(minimumOff, PowerRail.leastOff), atLeast: minimumOn, poller)
  }

  /// Turns a user that fell asleep into a sleeper, which still needs the supply. Switches nothing.
  func rest(_ user: String) { change { $0.machine.rest(user) } }

  /// Ends a sleeper's need for the supply, because the device will not be woken any more, or may lose its supply. The
  /// supply goes off now if no other device needs it, and otherwise with the last one. Returns at once. Does nothing
  /// for a device that does not sleep.
  func endRest(of sleeper: String) { performElsewhere(change { $0.machine.endRest(of: sleeper, clock.now) }) }

  /// Switches the supply off, because the process is about to end. Minimum times on do not apply any more. Returns at
  /// once.
  func end() { performElsewhere(change { $0.machine.end(clock.now) }) }

  /// Tries again to drive a line low after a failure. Returns at once.
  func retry() { performElsewhere(change { $0.machine.look(clock.now) }) }

  /// Drives the line low once, however a previous hub left it. Does nothing if the supply is in use.
  func makeSafe() throws(HardwareError) {
    if let problem = perform(change { $0.machine.makeSafe() }) { throw problem }
  }

  /// Returns once no thread drives the line.
  func isSettled() async {
    for await supply in supply.values(as: "shutdown") where !supply.isBeingSwitched { break }
  }

  /// - Returns: why the line could not be driven low
  @discardableResult
  private func perform(_ effect: RailMachine.Effect) -> HardwareError? {
    switch effect {
    case .nothing: return nil
    case .lookAgain(let instant):
      alarm.set(at: instant) { [weak self] in self?.retry() }
      return nil
    case .driveLow:
      let (kept, problem) = driveLow(takeOutput())
      let next = change { state in
        state.output = kept
        return state.machine.droveLow(problem, clock.now)
      }
      perform(next)
      return problem
    }
  }

  /// Performs an effect on its own thread, because a hanging line must not stop the thread of the timers, of the
  /// signals or of another device.
  private func performElsewhere(_ effect: RailMachine.Effect) {
    guard effect == .driveLow else {
      perform(effect)
      return
    }
    // Without a thread it is better to wait than to leave the line high.
    if DetachedThread.start("power line", { self.perform(effect) }) != 0 { perform(effect) }
  }

  /// - Returns: the line, if it stays requested, and the error if it could not be driven low
  private func driveLow(_ output: (any GPIOOutput)?) -> (kept: (any GPIOOutput)?, problem: HardwareError?) {
    guard case .gpio(let name, let activeLow) = `switch` else { return (nil, nil) }
    var kept = output
    do throws(HardwareError) {
      // Opening a line drives it low, and closing leaves it low.
      let line = if let output { output } else { try hardware.gpioOutput(name, activeLow: activeLow) }
      kept = line
      try line.close()
      return (nil, nil)
    } catch {
      switch error {
      // A chip that has disappeared returns as a new one, whose line must be opened again.
      case .notFound, .disconnected: return (nil, error)
      default: return (kept, error)
      }
    }
  }

  /// Changes the state under the lock, and reports a change after the lock is released.
  private func change<Result>(_ body: (inout State) -> Result) -> Result {
    let (result, woken, mustDeliver) = state.withLock { state -> (Result, [WakeSignal], Bool) in
      let before = state.machine.supply
      let result = body(&state)
      if state.machine.supply == before { return (result, [], false) }
      return (result, state.waiting, property.stage(state.machine.supply))
    }
    for waiting in woken { waiting.raise() }
    if mustDeliver { property.deliver() }
    return result
  }
}

extension RailMachine.Answer {
  fileprivate var mustWait: Bool {
    switch self {
    case .granted, .driveHigh: false
    case .rest, .busy: true
    }
  }
}
