import Devices
import Guarding
import MonotonicTime
import Publishing

/// Measures the battery of the board, relaxes requests while it is low, and says when the board must shut down.
///
/// `BatteryPolicy` decides. Between two measurements the supply monitor may sleep, and one timer starts the next
/// measurement. Nothing is measured before `begin`, after `end`, and on a board without the section `battery`.
public final class BatteryMonitor: Sendable {
  public enum Event: Equatable, Sendable {
    /// The battery is empty, so the board must shut down. If `isReal` is `false`, the supply is simulated. The board
    /// then stays on, and the event is only reported. The text gives the reason.
    case shutDown(String, monitor: String, isReal: Bool)
    /// A shutdown is not necessary, or no longer necessary. The monitor sends this if the battery recovers after a
    /// shutdown was requested. It also sends this with its first decision, because the previous run may have shut the
    /// board down.
    case staysOn(monitor: String)
  }

  /// The battery of one board, and its supply monitor.
  private struct Watch {
    let settings: BatterySettings
    let description: SupplyMonitorDescription
    let reader: SupplyMonitorReader
    let isReal: Bool
    var policy: BatteryPolicy
    /// Identifies the watch, so that samples of an earlier watch are ignored.
    let number: Int
    var lease: Subscription?
    /// The voltage at the last change of the level.
    var volts = 0.0
    var hasShutDown = false
  }

  private struct State {
    var watch: Watch?
    var following: Subscription?
    var lastNumber = 0
    /// Whether an alarm has started the board, and not a person.
    var isWokenByAlarm = false
    var isOver = false
  }

  /// A sample that is older than this does not show the present voltage.
  private static let stale = Duration.seconds(5)

  static let holder = Holder("battery", purpose: .schedule)

  public let events = Subject<Event, Never>()
  private let clock: any MonotonicTimeSource
  private let alarm: Alarm
  private let state = Guarded(State())
  private let limits = Guarded(Degradation.none)
  private let changed = Guarded<Callback?>(nil)
  private let lifetime = Lifetime()

  init(clock: any MonotonicTimeSource) {
    self.clock = clock
    alarm = Alarm(clock: clock)
    clock.onResume { [weak self] _ in self?.resume() }.store(in: lifetime)
  }

  /// The limits that the battery sets on fixes at present.
  public var degradation: Degradation { limits.withLock { $0 } }

  /// The present level; `nil` while it is unknown, and without a battery.
  public var level: BatteryPolicy.Level? { state.withLock { $0.watch?.policy.level } }

  /// Whether the present samples may change the level. A decision takes at most the battery's `grace`.
  var isDeciding: Bool { state.withLock { $0.watch?.policy.isDeciding ?? false } }

  /// Whether the board must shut down at present. This may be `false` after the event `shutDown`, if the battery has
  /// recovered or is being charged.
  public var mustShutDown: Bool { state.withLock { $0.watch?.policy.mustShutDown ?? false } }

  /// Calls back after each change of `degradation`.
  func limitsChanged(_ action: @escaping @Sendable () -> Void) { changed.withLock { $0 = Callback(action) } }

  // MARK: The board

  /// Watches the battery of the hub's board, and of each later one.
  public func begin(on hub: Hub) {
    let following = hub.registry.subscribe(
      as: "battery", receiveValue: { [weak self, machine = hub.machine] in self?.follow($0, on: machine) })
    let isOver = state.withLock { state in
      if !state.isOver { state.following = following }
      return state.isOver
    }
    if isOver { following.cancel() }
  }

  private func follow(_ registry: DeviceRegistry, on machine: Machine) {
    let settings = registry.board.battery
    let found = settings.flatMap { registry.supplyMonitor($0.monitor) }
    let now = clock.now
    let (isNew, old, staged) = state.withLock { state -> (Bool, Watch?, [DeviceMonitor]) in
      if state.isOver { return (false, nil, []) }
      let old = state.watch
      var staged: [DeviceMonitor] = []
      func stage(_ monitor: DeviceMonitor, isDecided: Bool) {
        if monitor.stageBattery(isLow: nil, isDecided: isDecided) { staged.append(monitor) }
      }
      guard let settings, let found else {
        state.watch = nil
        if let old { stage(old.reader.monitor, isDecided: true) }
        return (old != nil, old, staged)
      }
      if let old, old.settings == settings, old.reader === found.reader { return (false, nil, []) }
      if let old { stage(old.reader.monitor, isDecided: true) }
      stage(found.reader.monitor, isDecided: false)
      state.lastNumber += 1
      state.watch = Watch(
        settings: settings, description: found.description, reader: found.reader,
        isReal: machine.origin(of: .supplyMonitor(found.description)) == .real,
        policy: BatteryPolicy(settings, at: now), number: state.lastNumber)
      if state.isWokenByAlarm { state.watch?.policy.startIsOver(at: now) }
      return (true, old, staged)
    }
    guard isNew else { return }
    for monitor in staged { monitor.deliver() }
    old?.lease?.cancel()
    setLimits()
    guard found != nil, settings != nil else { return alarm.cancel() }
    measure()
  }

  /// Records that an alarm has started the board. If the battery is empty, the board then shuts down without waiting
  /// for `afterStart`. Otherwise it would sleep and wake again and again, until the battery is damaged.
  public func wasWokenByAlarm() {
    let now = clock.now
    state.withLock { state in
      state.isWokenByAlarm = true
      state.watch?.policy.startIsOver(at: now)
    }
  }

  public func end() {
    let (lease, following) = state.withLock { state -> (Subscription?, Subscription?) in
      defer { (state.watch, state.following) = (nil, nil) }
      state.isOver = true
      return (state.watch?.lease, state.following)
    }
    alarm.end()
    following?.cancel()
    lease?.cancel()
  }

  // MARK: Measuring

  /// Subscribes to the supply monitor.
  private func measure() {
    guard
      let (reader, number) = state.withLock({ state in
        state.watch.flatMap { $0.lease == nil ? ($0.reader, $0.number) : nil }
      })
    else { return setAlarm() }
    let lease = reader.readings.subscribe(
      as: BatteryMonitor.holder, receiveValue: { [weak self] in self?.receive($0, number) })
    let isUnused = state.withLock { state in
      guard state.watch?.number == number, state.watch?.lease == nil, case .sample = state.watch?.policy.next else {
        return true
      }
      state.watch?.lease = lease
      return false
    }
    if isUnused { lease.cancel() }
    setAlarm()
  }

  private func setAlarm() {
    alarm.set(
      asking: {
        state.withLock { state in
          switch state.watch?.policy.next {
          case nil: nil
          case .sample(let instant), .rest(let instant): instant
          }
        }
      }, { [weak self] in self?.alarmFired() })
  }

  private func alarmFired() {
    let now = clock.now
    let mustMeasure = update { policy in
      switch policy.next {
      case .sample(let instant) where instant <= now: return policy.missed(at: now)
      case .rest(let instant) where instant <= now:
        policy.look(at: now)
        return []
      case .sample, .rest: return []
      }
    }
    if mustMeasure { measure() }
  }

  private func receive(_ sample: SupplySample, _ number: Int) {
    let now = clock.now
    guard now - sample.at <= BatteryMonitor.stale, state.withLock({ $0.watch?.number == number }) else { return }
    let isCharging = sample.flowsBack
    // A sample that was under way when the lease ended may begin a trend, which needs further samples.
    if update({ $0.receive(volts: sample.volts, isCharging: isCharging, at: now) }) { measure() }
  }

  private func resume() {
    let now = clock.now
    let mustMeasure = update { policy in
      policy.resume(at: now)
      return []
    }
    if mustMeasure { measure() }
  }

  /// Reports that the board could not be shut down.
  public func shutDownRefused(because reason: String) {
    let now = clock.now
    let staged = state.withLock { state -> DeviceMonitor? in
      state.watch?.policy.shutDownRefused(at: now)
      guard let watch = state.watch, watch.policy.level == .critical else { return nil }
      let text = "\(BatteryMonitor.text(watch)): the board stays on: \(reason)"
      return watch.reader.monitor.stageBattery(isLow: text, isDecided: true) ? watch.reader.monitor : nil
    }
    staged?.deliver()
    // The policy wants to measure again before the next attempt.
    setAlarm()
  }

  /// Changes the policy, and acts on the effects.
  ///
  /// - Returns: whether the monitor must measure
  private func update(_ change: (inout BatteryPolicy) -> [BatteryPolicy.Effect]) -> Bool {
    let now = clock.now
    var mustDeliver = false
    let (effects, ended, watch) = state.withLock { state -> ([BatteryPolicy.Effect], Subscription?, Watch?) in
      guard var watch = state.watch else { return ([], nil, nil) }
      let effects = change(&watch.policy)
      var ended: Subscription?
      if case .rest = watch.policy.next { swap(&ended, &watch.lease) }
      for case .level(let level, let volts) in effects {
        watch.volts = volts
        let text = level == .normal ? nil : BatteryMonitor.text(watch, level, at: now)
        // The report is staged under the lock. Otherwise a thread that decided earlier could report later.
        if watch.reader.monitor.stageBattery(isLow: text, isDecided: true) { mustDeliver = true }
      }
      let before = state.watch
      state.watch = watch
      // The stored flag changes here. The effects below need its previous value, so `watch` keeps that value.
      if effects.contains(where: { if case .shutDown = $0 { true } else { false } }) { state.watch?.hasShutDown = true }
      if watch.policy.level != .critical { state.watch?.hasShutDown = false }
      // The first decision may end a shutdown that the previous run began.
      watch.hasShutDown = before.map { $0.hasShutDown || $0.policy.level == nil } ?? false
      return (effects, ended, watch)
    }
    if mustDeliver { watch?.reader.monitor.deliver() }
    ended?.cancel()
    guard let watch else { return false }
    for effect in effects { act(on: effect, watch) }
    guard case .sample = watch.policy.next else {
      setAlarm()
      return false
    }
    if watch.lease != nil { setAlarm() }
    return watch.lease == nil
  }

  private func act(on effect: BatteryPolicy.Effect, _ watch: Watch) {
    switch effect {
    case .level(let level, _):
      setLimits()
      if watch.hasShutDown, level != .critical { events.send(.staysOn(monitor: watch.settings.monitor)) }
    case .shutDown:
      events.send(
        .shutDown(BatteryMonitor.text(watch), monitor: watch.settings.monitor, isReal: watch.isReal))
    }
  }

  private func setLimits() {
    let present = state.withLock { state in
      state.watch.map { $0.settings.degradation($0.policy.stepCount) } ?? .none
    }
    let isNew = limits.withLock { limits in
      defer { limits = present }
      return limits != present
    }
    if isNew { changed.withLock { $0 }?() }
  }

  // MARK: Words

  private static func text(_ watch: Watch) -> String {
    let limit = watch.settings.criticalVolts ?? watch.settings.lowVolts
    return "the battery is empty, \(watch.volts.shortVolts) V of at least \(limit.shortVolts) V"
  }

  private static func text(_ watch: Watch, _ level: BatteryPolicy.Level, at now: MonotonicInstant) -> String {
    if level == .critical {
      let start =
        watch.policy.isStarting(at: now) ? " \(watch.settings.afterStart.inSeconds.short) s after the start" : ""
      return "\(text(watch)): the board shuts down\(start)"
    }
    let limits = watch.settings.degradation(watch.policy.stepCount).text ?? "charge it, or switch loads off"
    return
      "the battery is low, \(watch.volts.shortVolts) V of at least \(watch.settings.lowVolts.shortVolts) V: \(limits)"
  }
}
