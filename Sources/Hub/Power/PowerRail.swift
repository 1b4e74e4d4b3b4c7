import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// One switch of a supply, and the devices that hang on it: on with the first that is wanted, off after the last, unless one of
/// them sleeps and keeps what it knows by it.
///
/// A rail knows nothing of board files and outlives them: whoever reads one again finds the rails as they are.
public final class PowerRail: Sendable {
  public struct Supply: Equatable, Sendable {
    public var isOn: Bool
    /// The IDs of the devices that want it on, in the order in which they came.
    public var users: [String]
    /// The IDs of those that nobody wants and that need it for their sleep.
    public var sleepers: [String] = []
    /// Since when it is on, or off; `nil` where it has been off since before the hub began.
    public var since: MonotonicInstant?
  }

  private struct State {
    var supply: Supply
    /// Open only while the supply is on.
    var output: (any GPIOOutput)?
    var hasBeenDriven = false
  }

  public let `switch`: Board.Power.Switch
  private let hardware: any Hardware
  private let clock: any MonotonicTimeSource
  private let state: Guarded<State>
  private let property: MutableProperty<Supply>

  init(_ switch: Board.Power.Switch, hardware: any Hardware, clock: any MonotonicTimeSource) {
    self.switch = `switch`
    self.hardware = hardware
    self.clock = clock
    let supply = Supply(isOn: `switch` == .none, users: [], since: `switch` == .none ? clock.now : nil)
    state = Guarded(State(supply: supply))
    property = MutableProperty(supply)
  }

  deinit { try? state.withLock { try $0.output?.close() } }

  /// Whether the supply is on, and for whom. Subscribing switches nothing.
  public var supply: Property<Supply> { property.readOnly }

  /// Whether its line could be driven at all.
  var hasBeenDriven: Bool { state.withLock { $0.hasBeenDriven } }

  /// Whether the supply is on for one of its users and for nobody else, awake or asleep: letting go of it would switch it off.
  func isOn(forAlone user: String) -> Bool {
    state.withLock { $0.supply.isOn && $0.supply.users == [user] && $0.supply.sleepers.isEmpty }
  }

  /// Has the supply on for a device until `release`.
  ///
  /// - Parameters:
  ///   - minimumOff: for how long the supply has to have been off before
  ///   - poller: ends that wait early when the reader is told to stop
  /// - Returns: since when it is on; `nil` where the reader was told to stop before
  func require(
    for user: String, after minimumOff: Duration, _ poller: Poller
  ) throws(HardwareError) -> MonotonicInstant? {
    while true {
      let (onSince, rest) = try change { (state) throws(HardwareError) in try switchOn(&state, user, minimumOff) }
      if let onSince { return onSince }
      if poller.wait(for: nil, atMost: rest) == .stopped { return nil }
    }
  }

  private func switchOn(
    _ state: inout State, _ user: String, _ minimumOff: Duration
  ) throws(HardwareError) -> (onSince: MonotonicInstant?, rest: Duration) {
    let now = clock.now
    if !state.supply.isOn, case .gpio(let line, let activeLow) = `switch` {
      if let since = state.supply.since, now - since < minimumOff { return (nil, minimumOff - (now - since)) }
      let output = try hardware.gpioOutput(line, activeLow: activeLow)
      do throws(HardwareError) {
        try output.set(true)
      } catch {
        try? output.close()
        throw error
      }
      state.output = output
      state.hasBeenDriven = true
      state.supply.isOn = true
      state.supply.since = now
    }
    state.supply.users.append(user)
    state.supply.sleepers.removeAll { $0 == user }
    return (state.supply.since ?? now, .zero)
  }

  /// Ends what `require` began; the last user's end drives the line low, unless somebody sleeps by it. Does nothing for who is no
  /// user.
  ///
  /// - Throws: where the line could not be driven; it is let go of all the same
  func release(for user: String) throws(HardwareError) {
    try change { (state) throws(HardwareError) in
      guard let index = state.supply.users.firstIndex(of: user) else { return }
      state.supply.users.remove(at: index)
      try switchOffIfUnused(&state)
    }
  }

  /// What buffers a supply takes so long to run down.
  private static let leastOff = Duration.milliseconds(200)

  /// Has the supply off and on again for one of its users, unless it is on for others as well.
  ///
  /// - Parameters:
  ///   - minimumOff: for how long it has to be off
  ///   - poller: ends that wait early when the reader is told to stop
  /// - Returns: since when it is on; `nil` where the reader was told to stop, who is no user any more then
  func cycle(
    for user: String, off minimumOff: Duration, _ poller: Poller
  ) throws(HardwareError) -> MonotonicInstant? {
    try release(for: user)
    return try require(for: user, after: max(minimumOff, PowerRail.leastOff), poller)
  }

  /// Has a device that fell asleep need the supply for that, and not be its user any more.
  func rest(_ user: String) {
    // Nothing is switched.
    try? change { (state) throws(HardwareError) in
      guard let index = state.supply.users.firstIndex(of: user) else { return }
      state.supply.users.remove(at: index)
      state.supply.sleepers.append(user)
    }
  }

  /// Ends what `rest` began, where the device is not to be woken any more, or may lose its supply: at once where that is on for nobody
  /// else, and with the last of the others otherwise. Does nothing for who does not sleep.
  func endRest(of sleeper: String) throws(HardwareError) {
    try change { (state) throws(HardwareError) in
      guard state.supply.sleepers.contains(sleeper) else { return }
      state.supply.sleepers.removeAll { $0 == sleeper }
      try switchOffIfUnused(&state)
    }
  }

  private func switchOffIfUnused(_ state: inout State) throws(HardwareError) {
    guard state.supply.users.isEmpty, state.supply.sleepers.isEmpty, let output = state.output else { return }
    state.output = nil
    state.supply.isOn = false
    state.supply.since = clock.now
    try output.close()
  }

  /// Drives the safe level once, whatever a hub before this one left behind; nothing where the supply is in use.
  func makeSafe() throws(HardwareError) {
    guard case .gpio(let line, let activeLow) = `switch` else { return }
    try state.withLock { (state) throws(HardwareError) in
      // Opening drives the safe level, and closing leaves it.
      if state.output == nil { try hardware.gpioOutput(line, activeLow: activeLow).close() }
      state.hasBeenDriven = true
    }
  }

  /// Changes the state under the lock and tells of it once that is free, also where the change went wrong half-way.
  private func change<Result>(
    _ body: (inout State) throws(HardwareError) -> Result
  ) throws(HardwareError) -> Result {
    var mustDeliver = false
    defer { if mustDeliver { property.deliver() } }
    return try state.withLock { (state) throws(HardwareError) in
      let before = state.supply
      defer { if state.supply != before { mustDeliver = property.stage(state.supply) } }
      return try body(&state)
    }
  }
}
