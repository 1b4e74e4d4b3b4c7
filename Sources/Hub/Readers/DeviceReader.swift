import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// A device behind a lazy publisher: supplied, started and read only while it has subscribers.
///
/// The scope is the same for all devices: supply on, settle, start, read, stop, supply off; or asleep, with the supply
/// on. The body is different.
public final class DeviceReader<Sample: Sendable>: Sendable {
  /// Reads until told to stop; it stops everything that it starts, on every path.
  typealias Body = @Sendable (borrowing DeviceScope<Sample>) throws(HardwareError) -> Void

  public let monitor: DeviceMonitor
  /// The runs themselves: a fault ends one for all.
  public let source: LazyPublisher<Sample, HardwareError>
  /// The device's measurements across failures: one series of tries for all subscribers.
  public let readings: LazyPublisher<Sample, Never>
  public let rail: PowerRail
  /// The detector of motion without subscribers; `nil` if there is none.
  let motion: MotionWatch?
  /// Whether it draws power, and has times of its power policy to keep.
  private let hasSupply: Bool
  private let cuts: SupplyCuts
  private let isShutDown = Guarded(false)
  private let putToSleep: @Sendable () throws(HardwareError) -> Void
  /// When the device ends by itself the sleep of `putToSleep`.
  private let sleepLimit: SleepLimit?
  /// Wakes it for a moment to put it to sleep again.
  private let sleepRenewal: SleepRenewal
  private let following: Subscription
  private let followingSupply: Subscription

  /// - Parameters:
  ///   - replaysLatest: whether the first subscriber gets the latest sample of the present run
  ///   - patience: the time that a call to the kernel may take before the reader counts as stuck
  ///   - check: looks for obstacles that do not depend on the supply, before that is switched on
  ///   - putToSleep: puts a device to sleep of which nothing is known, because a previous hub may have left it awake
  ///   - motion: makes the detector of motion
  convenience init(
    _ id: String, _ kind: DeviceStatus.Kind, title: String, power: Board.Power, replaysLatest: Bool = false,
    patience: Duration = .seconds(2), on machine: Machine,
    check: @escaping @Sendable () throws(HardwareError) -> Void = {},
    putToSleep: @escaping @Sendable () throws(HardwareError) -> Void = {},
    sleepLimit: SleepLimit? = nil,
    motion: (LazyPublisher<Sample, Never>, DeviceMonitor, PowerRail) -> MotionWatch? = { _, _, _ in nil },
    reading body: @escaping Body
  ) {
    let (clock, supervisor) = (machine.clock, machine.supervisor)
    let rail = machine.rail(of: power.switch)
    let monitor = DeviceMonitor(id: id, kind: kind, title: title, power: power, rail: rail, clock: clock)
    let renewal = SleepRenewal(clock: clock)
    let cuts = SupplyCuts()
    let source = LazyPublisher<Sample, HardwareError>(
      id, timing: power.timing, replaysLatest: replaysLatest, clock: clock,
      lingerPolicy: monitor, holderObserver: monitor, lacking: { .system("starting to read", errno: $0) },
      reading: { (reading) throws(HardwareError) in
        let progress = ReaderProgress()
        let poller = Poller(stop: reading.stop.fileDescriptor, progress: progress)
        let watch = supervisor.watch(progress, patience: patience) {
          // Its supply first: that may free it.
          cuts.add()
          rail.cut(for: id)
          monitor.health.failed(.stuck("the reader of \(id)"))
          monitor.released()
          reading.hangs(.stuck("the reader of \(id)"))
        }
        defer { watch.cancel() }
        let resuming = clock.onResume { _ in reading.interrupts(.suspended) }
        defer { resuming.end() }
        guard monitor.waitsForGate(poller) else { return }
        let timing = monitor.timing
        let supplied = try monitor.health.noting { () throws(HardwareError) -> MonotonicInstant? in
          if !rail.supply.value.isOn { try DeviceReader.check(check) }
          return try rail.require(for: id, after: timing.minimumOff, atLeast: timing.minimumOn, poller)
        }
        guard let suppliedSince = supplied else {
          // Cut off before the reader was told: as a failure it is tried again.
          if !reading.stop.isSet { throw .stuck("the power line of \(id)") }
          return
        }
        let cutCount = cuts.count
        defer {
          // A supply that was cut is this run's no more: by now it may be on for another run, or for the device of another board file.
          if cuts.count == cutCount { rail.release(for: id) }
          monitor.released()
        }
        monitor.cancelRestActions()
        reading.switchedOn()
        monitor.required()
        let scope = DeviceScope(
          poller: poller, suppliedSince: suppliedSince, reading: reading, monitor: monitor, rail: rail, power: power,
          renewal: renewal, clock: clock)
        guard scope.settle(since: suppliedSince) else { return }
        try monitor.health.noting { () throws(HardwareError) in try body(scope) }
      })
    self.init(
      source, monitor, rail, replaysLatest: replaysLatest, on: machine, putToSleep: putToSleep, sleepLimit: sleepLimit,
      sleepRenewal: renewal, cuts: cuts, motion: motion)
  }

  /// A missing device may appear with its supply.
  private static func check(_ body: @Sendable () throws(HardwareError) -> Void) throws(HardwareError) {
    do throws(HardwareError) {
      try body()
    } catch {
      switch error {
      case .notFound, .disconnected, .noAcknowledge: break
      default: throw error
      }
    }
  }

  /// - Parameters:
  ///   - source: named as the device is
  ///   - hasSupply: whether it draws power
  init(
    _ source: LazyPublisher<Sample, HardwareError>, _ monitor: DeviceMonitor, _ rail: PowerRail, replaysLatest: Bool,
    on machine: Machine, hasSupply: Bool = true, putToSleep: @escaping @Sendable () throws(HardwareError) -> Void = {},
    sleepLimit: SleepLimit? = nil, sleepRenewal: SleepRenewal? = nil, cuts: SupplyCuts = SupplyCuts(),
    motion: (LazyPublisher<Sample, Never>, DeviceMonitor, PowerRail) -> MotionWatch? = { _, _, _ in nil }
  ) {
    self.source = source
    self.monitor = monitor
    self.rail = rail
    self.putToSleep = putToSleep
    self.sleepLimit = sleepLimit
    self.hasSupply = hasSupply
    self.cuts = cuts
    let clock = machine.clock
    let sleepRenewal = sleepRenewal ?? SleepRenewal(clock: clock)
    self.sleepRenewal = sleepRenewal
    let hint = machine.retryHint.signal(for: source.name)
    let name = "\(source.name) readings"
    // Kept from one visit to the next: a missing device with scheduled wakes is finally tried once for each fix.
    let failures = FailureCount()
    readings = LazyPublisher(
      deriving: name, replaysLatest: replaysLatest, clock: clock, holderObserver: monitor
    ) { (run) throws(Never) in
      source.retrying(
        { Backoff.device($0, switched: rail.switch != .none) }, hint: hint, failures: failures, clock: clock
      ).subscribe(as: run.holders, receiveValue: { run.send($0) }, receiveCompletion: { run.finish($0) })
    }
    self.motion = motion(readings, monitor, rail)
    // On for another device, the supply has no least time off to wait for any more.
    followingSupply = rail.supply.subscribe(
      as: "\(source.name) reader", receiveValue: { [weak source] _ in source?.reconsiderRest() })
    following = source.activity.subscribe(as: "monitor", receiveValue: { monitor.follow($0) })
    sleepRenewal.performs { [weak source, weak rail, weak monitor, weak sleepRenewal] in
      guard let source, let rail, let monitor, let sleepRenewal else { return }
      let phase = source.activity.value.phase
      guard rail.outlastsRests, phase == .idle || phase == .failed else { return }
      sleepRenewal.visit(source, monitor)
    }
  }
}

extension DeviceReader {
  /// Puts a device whose supply cannot be switched to sleep, unless it is at work.
  ///
  /// - Returns: whether it is present, if that can be seen
  public func fallAsleep() throws(HardwareError) -> Bool {
    // One that lingers has no holder, and is at work all the same.
    let phase = source.activity.value.phase
    guard rail.switch == .none, phase == .idle || phase == .failed, motion?.isActive != true else { return true }
    // A device of the board before is still at it.
    if monitor.startGate.isClosed { return true }
    do throws(HardwareError) {
      try putToSleep()
      monitor.ended(isAsleep: true)
      // It may have slept before, so this is when it wakes at the latest.
      monitor.cancelRestActions()
      if let sleepLimit { monitor.whileResting(after: sleepLimit.renewal) { [sleepRenewal] in sleepRenewal.perform() } }
      return true
    } catch {
      switch error {
      // A missing device draws nothing.
      case .noAcknowledge, .notFound, .disconnected: return false
      default: throw error
      }
    }
  }
}

extension DeviceReader {
  /// Applies a new board file's power settings from now on. Its supply is not interrupted.
  ///
  /// - Parameter power: equal to the previous one in everything for which its runs are made
  public func follow(_ power: Board.Power) {
    if !hasSupply { return monitor.follow(power.withoutRest) }
    monitor.follow(power)
    source.changeTiming(to: power.timing)
    motion?.changeTiming(to: power.timing)
  }
}

extension DeviceReader {
  /// Ends its runs permanently, for any subscribers.
  ///
  /// - Parameter reason: for its status
  public func shutDown(because reason: String = "the hub is shutting down") {
    isShutDown.withLock { $0 = true }
    motion?.shutDown(because: reason)
    readings.shutDown(because: reason)
    source.shutDown(because: reason)
    endRest()
  }

  public func cutSupply() {
    cuts.add()
    rail.cut(for: monitor.id)
  }

  /// Returns once it is not inside its scope any more; after it was shut down it does not sleep by its supply either.
  public func isOff() async {
    await motion?.isOff()
    for await now in source.activity.values(as: "shutdown") where now.phase == .idle || now.phase == .failed { break }
    // A run that was about to end when it was shut down may have begun to sleep since.
    if isShutDown.withLock({ $0 }) { endRest() }
    await rail.isSettled()
  }

  public func whenOff(_ body: @escaping @Sendable () -> Void) -> Subscription {
    let lifetime = Lifetime()
    @Sendable func settle() {
      // A run that was about to end when it was shut down may have begun to sleep since.
      endRest()
      rail.supply.once(where: { !$0.isBeingSwitched }, within: lifetime, body)
    }
    let isEnded: @Sendable (Activity) -> Bool = { $0.phase == .idle || $0.phase == .failed }
    source.activity.once(where: isEnded, within: lifetime) { [motion] in
      guard let motion else { return settle() }
      motion.activity.once(where: isEnded, within: lifetime, settle)
    }
    return Subscription { lifetime.end() }
  }

  private func endRest() {
    monitor.cancelRestActions()
    sleepRenewal.end()
    rail.endRest(of: monitor.id)
    // A line that could not be driven low is tried again at every stop.
    rail.retry()
  }
}

extension Property {
  /// Calls back with the first value that meets a condition; at once, perhaps.
  fileprivate func once(
    where isMet: @escaping @Sendable (Value) -> Bool, within lifetime: Lifetime, _ body: @escaping @Sendable () -> Void
  ) {
    let isOver = Guarded(false)
    subscribe(
      as: "shutdown",
      receiveValue: { value in
        guard isMet(value) else { return }
        let isFirst = isOver.withLock { isOver in
          defer { isOver = true }
          return !isOver
        }
        if isFirst { body() }
      }
    ).store(in: lifetime)
  }
}

/// How often the supply was cut while a run hung.
final class SupplyCuts: Sendable {
  private let state = Guarded(0)

  var count: Int { state.withLock { $0 } }

  func add() { state.withLock { $0 += 1 } }
}

extension Backoff {
  /// A device that comes back should be found within a second or two; more frequent tries only fill the journal. With a
  /// switch each try works it, so a lasting fault is tried at growing intervals; a new device on the bus is reported at
  /// once. A device that another program uses, or that needs a permission, is recognized before the supply is switched.
  fileprivate static func device(_ error: HardwareError, switched: Bool) -> Backoff {
    let maximum: Duration =
      switch error {
      case .inUse, .noPermission, .terminal, .busy: .seconds(5)
      default: switched ? .seconds(60) : .seconds(1)
      }
    return Backoff(initial: .milliseconds(250), maximum: maximum)
  }
}

/// The environment of a reader's body, while the device is supplied.
struct DeviceScope<Sample: Sendable> {
  /// Waits for the device, or for the word to stop.
  let poller: Poller
  let suppliedSince: MonotonicInstant
  fileprivate let reading: Reading<Sample, HardwareError>
  let monitor: DeviceMonitor
  private let rail: PowerRail
  private let power: Board.Power
  private let renewal: SleepRenewal
  private let clock: any MonotonicTimeSource

  fileprivate init(
    poller: Poller, suppliedSince: MonotonicInstant, reading: Reading<Sample, HardwareError>, monitor: DeviceMonitor,
    rail: PowerRail, power: Board.Power, renewal: SleepRenewal, clock: any MonotonicTimeSource
  ) {
    self.rail = rail
    self.power = power
    self.renewal = renewal
    self.clock = clock
    self.poller = poller
    self.suppliedSince = suppliedSince
    self.reading = reading
    self.monitor = monitor
  }

  /// Returns whether the device has settled, and its reader was not told to stop.
  fileprivate func settle(since suppliedSince: MonotonicInstant) -> Bool {
    let unsettled = power.settleTime - (clock.now - suppliedSince)
    return unsettled <= .zero || poller.wait(for: nil, atMost: unsettled) != .stopped
  }

  /// Whether its supply is on for this device alone.
  var isSuppliedAlone: Bool { rail.isOn(forAlone: monitor.id) }

  /// Switches the supply off and on again, if it is on for this device alone.
  ///
  /// - Returns: the time since which it is on; `nil` if the reader was told to stop
  func cycleSupply() throws(HardwareError) -> MonotonicInstant? {
    let timing = monitor.timing
    let since = try rail.cycle(for: monitor.id, off: timing.minimumOff, atLeast: timing.minimumOn, poller)
    guard let since, settle(since: since) else { return nil }
    return since
  }

  /// The device is open, and has nothing useful to say yet, or any more.
  func acquiring() {
    monitor.acquiring()
    reading.started()
  }

  /// It has been told to sleep. Where it does its supply may stay on, unless its reader ends. The last that is said of it in a run.
  ///
  /// - Parameters:
  ///   - sleep: how it does
  ///   - limit: when it wakes by itself; `nil` if it never does. Its supply goes before that, or if others keep that on, or nothing
  ///     switches it, the device is put to sleep again
  func ended(isAsleep: Bool, as sleep: ReceiverSleep? = nil, for limit: SleepLimit? = nil) {
    monitor.ended(isAsleep: isAsleep, as: sleep)
    // A device that will not be woken any more loses its supply with the run.
    guard isAsleep, !monitor.isEnding else { return }
    rail.rest(monitor.id)
    let supplyEnd = [monitor.supplyEndsAfter, limit?.end].compactMap { $0 }.min()
    if let supplyEnd, rail.switch != .none {
      monitor.whileResting(after: supplyEnd) { [weak rail, id = monitor.id] in rail?.endRest(of: id) }
    }
    if let limit { monitor.whileResting(after: limit.renewal) { [renewal] in renewal.perform() } }
  }

  /// It measures.
  func tracking() { monitor.tracking() }

  func send(_ sample: Sample) { reading.send(sample) }
}
