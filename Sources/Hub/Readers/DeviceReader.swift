import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// A device as a lazy publisher. The device has its supply, works and is read only while it has subscribers, and during
/// its idle timeout.
///
/// The scope is the same for all devices: supply on, settle, start, read, stop, supply off (or asleep with the supply
/// on). Only `Body`, the part that reads, differs.
public final class DeviceReader<Sample: Sendable>: Sendable {
  /// The part of a run that differs between devices: it reads until it is told to stop, and stops everything that it
  /// has started, on every path.
  typealias Body = @Sendable (borrowing DeviceScope<Sample>) throws(HardwareError) -> Void

  public let monitor: DeviceMonitor
  /// The device's measurements until a failure, which ends every subscription.
  public let source: LazyPublisher<Sample, HardwareError>
  /// The device's measurements across failures: one series of attempts for all subscribers.
  public let readings: LazyPublisher<Sample, Never>
  public let rail: PowerRail
  /// Detects motion while the device has no subscribers; `nil` if the device cannot.
  let motion: StillnessMonitor?
  /// Whether the device draws power, and has a power policy.
  private let hasSupply: Bool
  private let cuts: SupplyCuts
  private let isShutDown = Guarded(false)
  private let putToSleep: @Sendable () throws(HardwareError) -> Void
  /// The time after which the device leaves the sleep mode of `putToSleep` by itself.
  private let sleepLimit: SleepLimit?
  /// Wakes the device for a moment to put it to sleep again.
  private let sleepRenewal: SleepRenewal
  private let following: Subscription
  private let followingSupply: Subscription

  /// - Parameters:
  ///   - replaysLatest: whether a new subscriber first gets the latest sample of the present run
  ///   - patience: the time that a call to the kernel may take before the reader counts as hanging
  ///   - check: looks for errors that do not depend on the supply, before the supply is switched on
  ///   - putToSleep: puts a device to sleep that a previous hub may have left awake
  ///   - onHang: called, on the timers' thread, when the reader counts as hanging
  ///   - motion: makes the detector of motion
  convenience init(
    _ id: String, _ kind: DeviceStatus.Kind, title: String, power: Board.Power, replaysLatest: Bool = false,
    patience: Duration = .seconds(2), on machine: Machine,
    check: @escaping @Sendable () throws(HardwareError) -> Void = {},
    putToSleep: @escaping @Sendable () throws(HardwareError) -> Void = {},
    sleepLimit: SleepLimit? = nil, onHang: @escaping @Sendable () -> Void = {},
    motion: (LazyPublisher<Sample, HardwareError>, DeviceMonitor, PowerRail) -> StillnessMonitor? = { _, _, _ in nil },
    reading body: @escaping Body
  ) {
    let (clock, supervisor) = (machine.clock, machine.supervisor)
    let rail = machine.rail(of: power.switch)
    let monitor = DeviceMonitor(id: id, kind: kind, title: title, power: power, rail: rail, clock: clock)
    let renewal = SleepRenewal(clock: clock)
    let cuts = SupplyCuts()
    let source = LazyPublisher<Sample, HardwareError>(
      id, timing: power.timing, replaysLatest: replaysLatest, clock: clock,
      idleTimeoutPolicy: monitor, holderObserver: monitor, lacking: { .system("starting to read", errno: $0) },
      reading: { (context) throws(HardwareError) in
        let progress = ReaderProgress()
        let poller = Poller(stop: context.stop.fileDescriptor, progress: progress)
        let watch = supervisor.watch(progress, patience: patience) {
          // Cut the supply first, because the cut may free the reader.
          cuts.add()
          rail.cut(for: id)
          monitor.health.failed(.stuck("the reader of \(id)"))
          monitor.released()
          context.hangs(.stuck("the reader of \(id)"))
          onHang()
        }
        defer { watch.cancel() }
        let resuming = clock.onResume { _ in context.interrupts(.suspended) }
        defer { resuming.end() }
        guard monitor.waitsForGate(poller) else { return }
        let timing = monitor.timing
        let supplied = try monitor.health.noting { () throws(HardwareError) -> MonotonicInstant? in
          if !rail.supply.value.isOn { try DeviceReader.check(check) }
          return try rail.require(for: id, after: timing.minimumOff, atLeast: timing.minimumOn, poller)
        }
        guard let suppliedSince = supplied else {
          // The supply was cut before the reader was told to stop. This counts as a failure, so the reader tries
          // again.
          if !context.stop.isSet { throw .stuck("the power line of \(id)") }
          return
        }
        let cutCount = cuts.count
        defer {
          // A supply that was cut does not belong to this run any more. It may be on for another run, or for the device
          // of another board file.
          if cuts.count == cutCount { rail.release(for: id) }
          monitor.released()
        }
        monitor.cancelSleepActions()
        context.switchedOn()
        monitor.required()
        let scope = DeviceScope(
          poller: poller, suppliedSince: suppliedSince, context: context, monitor: monitor, rail: rail, power: power,
          renewal: renewal, clock: clock)
        guard scope.settle(since: suppliedSince) else { return }
        do throws(HardwareError) {
          try body(scope)
        } catch {
          // An error while the device is being stopped is no failure of the device.
          if !context.stop.isSet { monitor.health.failed(error) }
          throw error
        }
      })
    self.init(
      source, monitor, rail, replaysLatest: replaysLatest, on: machine, putToSleep: putToSleep, sleepLimit: sleepLimit,
      sleepRenewal: renewal, cuts: cuts, motion: motion)
  }

  /// Runs the check. A missing device is no error, because it may appear once it has a supply.
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
  ///   - source: the publisher, with the device's name
  ///   - hasSupply: whether the device draws power
  init(
    _ source: LazyPublisher<Sample, HardwareError>, _ monitor: DeviceMonitor, _ rail: PowerRail, replaysLatest: Bool,
    on machine: Machine, hasSupply: Bool = true, putToSleep: @escaping @Sendable () throws(HardwareError) -> Void = {},
    sleepLimit: SleepLimit? = nil, sleepRenewal: SleepRenewal? = nil, cuts: SupplyCuts = SupplyCuts(),
    motion: (LazyPublisher<Sample, HardwareError>, DeviceMonitor, PowerRail) -> StillnessMonitor? = { _, _, _ in nil }
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
    // The count outlasts a subscription, so that the pauses also grow between scheduled wakes. A missing device is then
    // tried once for each fix.
    let failures = FailureCount()
    readings = LazyPublisher(
      deriving: name, replaysLatest: replaysLatest, clock: clock, holderObserver: monitor
    ) { (run) throws(Never) in
      // A value from before a failure, or from before a suspension, is not a present one. A reader that hangs does not
      // end, so its failure is known only to the monitor.
      let watching = monitor.changes.subscribe(
        as: "readings", receiveValue: { if $0.power == .failed { run.forgetLatest() } })
      let values = source.retrying(
        { failure in
          run.forgetLatest()
          return Backoff.device(failure, switched: rail.switch != .none)
        }, hint: hint, failures: failures, clock: clock
      ).subscribe(as: run.holders, receiveValue: { run.send($0) }, receiveCompletion: { run.finish($0) })
      return Subscription {
        values.cancel()
        watching.cancel()
      }
    }
    self.motion = motion(source, monitor, rail)
    // If the supply is on for another device, this one need not wait for a minimum time off.
    followingSupply = rail.supply.subscribe(
      as: "\(source.name) reader", receiveValue: { [weak source] _ in source?.reconsiderOffTime() })
    following = source.activity.subscribe(as: "monitor", receiveValue: { monitor.follow($0) })
    sleepRenewal.performs { [weak source, weak rail, weak monitor, weak sleepRenewal] in
      guard let source, let rail, let monitor, let sleepRenewal else { return }
      guard rail.outlastsRests, source.activity.value.isOver else { return }
      sleepRenewal.visit(source, monitor)
    }
  }
}

extension DeviceReader {
  /// Puts a device whose supply cannot be switched to sleep, unless it is working.
  ///
  /// - Returns: whether the device is present, if that can be determined
  public func fallAsleep() throws(HardwareError) -> Bool {
    // A device without holders still works during its idle timeout.
    guard rail.switch == .none, source.activity.value.isOver, motion?.isActive != true else { return true }
    // A device of the previous board still uses the hardware.
    if monitor.startGate.isClosed { return true }
    do throws(HardwareError) {
      try putToSleep()
      monitor.ended(isAsleep: true)
      // The device may have been asleep already. Its sleep limit counts from now, so the earlier actions do not apply.
      monitor.cancelSleepActions()
      if let sleepLimit { monitor.whileResting(after: sleepLimit.renewal) { [sleepRenewal] in sleepRenewal.perform() } }
      return true
    } catch {
      switch error {
      // A missing device draws no power.
      case .noAcknowledge, .notFound, .disconnected: return false
      default: throw error
      }
    }
  }
}

extension DeviceReader {
  /// Applies a new board file's power settings from now on. The supply is not interrupted.
  ///
  /// - Parameter power: equal to the previous settings in everything that a run depends on
  public func follow(_ power: Board.Power) {
    if !hasSupply { return monitor.follow(power.withoutRest) }
    monitor.follow(power)
    source.changeTiming(to: power.timing)
    motion?.changeTiming(to: power.timing)
  }
}

extension DeviceReader {
  /// Ends the runs permanently, even if there are subscribers.
  ///
  /// - Parameter reason: the reason in the device's status
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
    motion?.cutSupply()
  }

  /// Returns once the reader has left its scope. After a shutdown the device does not need the supply for sleeping
  /// either.
  public func isOff() async {
    await motion?.isOff()
    for await now in source.activity.values(as: "shutdown") where now.isOver { break }
    // `shutDown` has already ended the rest, but a run that ended after it may have put the device to sleep again.
    if isShutDown.withLock({ $0 }) { endRest() }
    await rail.isSettled()
  }

  public var isEnded: Bool {
    source.activity.value.isOver && motion?.isActive != true && !rail.supply.value.isBeingSwitched
  }

  public func whenOff(_ body: @escaping @Sendable () -> Void) -> Subscription {
    let lifetime = Lifetime()
    @Sendable func settle() {
      // `shutDown` has already ended the rest, but a run that ended after it may have put the device to sleep again.
      endRest()
      rail.supply.once(where: { !$0.isBeingSwitched }, within: lifetime, body)
    }
    source.activity.once(where: \.isOver, within: lifetime) { [motion] in
      guard let motion else { return settle() }
      motion.activity.once(where: \.isOver, within: lifetime, settle)
    }
    return Subscription { lifetime.end() }
  }

  private func endRest() {
    monitor.cancelSleepActions()
    sleepRenewal.end()
    rail.endRest(of: monitor.id)
    // Each stop tries again to drive a line low that could not be driven.
    rail.retry()
  }
}

extension Property {
  /// Calls back with the first value that meets a condition. The call may come before this method returns.
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

/// Counts how often the supply was cut from outside a run.
final class SupplyCuts: Sendable {
  private let state = Guarded(0)

  var count: Int { state.withLock { $0 } }

  func add() { state.withLock { $0 += 1 } }
}

extension Backoff {
  /// The pauses between attempts after an error. A device that comes back should be found within a second or two; more
  /// frequent attempts only fill the journal. With a switch, each attempt switches the supply, so the intervals grow
  /// during a lasting fault; a new device on the bus is reported at once. A device that another program uses, or that
  /// needs a permission, is recognised before the supply is switched, and is tried every five seconds.
  fileprivate static func device(_ error: HardwareError, switched: Bool) -> Backoff {
    let maximum: Duration =
      switch error {
      case .inUse, .noPermission, .terminal, .busy: .seconds(5)
      default: switched ? .seconds(60) : .seconds(1)
      }
    return Backoff(initial: .milliseconds(250), maximum: maximum)
  }
}

/// The environment of a reader's body, while the device's supply is on.
struct DeviceScope<Sample: Sendable> {
  /// Waits for the device, or for the request to stop.
  let poller: Poller
  let suppliedSince: MonotonicInstant
  fileprivate let context: SourceContext<Sample, HardwareError>
  let monitor: DeviceMonitor
  private let rail: PowerRail
  private let power: Board.Power
  private let renewal: SleepRenewal
  private let clock: any MonotonicTimeSource

  fileprivate init(
    poller: Poller, suppliedSince: MonotonicInstant, context: SourceContext<Sample, HardwareError>,
    monitor: DeviceMonitor,
    rail: PowerRail, power: Board.Power, renewal: SleepRenewal, clock: any MonotonicTimeSource
  ) {
    self.rail = rail
    self.power = power
    self.renewal = renewal
    self.clock = clock
    self.poller = poller
    self.suppliedSince = suppliedSince
    self.context = context
    self.monitor = monitor
  }

  /// Waits until the device has settled.
  ///
  /// - Returns: `false` if the reader was told to stop first
  fileprivate func settle(since suppliedSince: MonotonicInstant) -> Bool {
    let unsettled = power.settleTime - (clock.now - suppliedSince)
    return unsettled <= .zero || poller.wait(for: nil, atMost: unsettled) != .stopped
  }

  /// Whether the supply is on for this device alone.
  var isSuppliedAlone: Bool { rail.isOn(forAlone: monitor.id) }

  /// Switches the supply off and on again, if the supply is on for this device alone.
  ///
  /// - Returns: the time since which the supply is on; `nil` if the reader was told to stop
  func cycleSupply() throws(HardwareError) -> MonotonicInstant? {
    let timing = monitor.timing
    let since = try rail.cycle(for: monitor.id, off: timing.minimumOff, atLeast: timing.minimumOn, poller)
    guard let since, settle(since: since) else { return nil }
    return since
  }

  /// Reports that the device has started, which counts as a wake.
  func woke() { monitor.woke() }

  /// Reports that the device is open and has no useful data, or no longer has any.
  func acquiring() {
    monitor.acquiring()
    context.started()
  }

  /// Reports that the device was told to sleep, as the last report of a run. The supply of a sleeping device may stay
  /// on, unless its reader ends.
  ///
  /// - Parameters:
  ///   - sleep: the sleep mode
  ///   - limit: when the device wakes by itself; `nil` if never. The supply goes off before that. If other devices keep
  ///     it on, or nothing switches it, the device is put to sleep again
  func ended(isAsleep: Bool, as sleep: ReceiverSleep? = nil, for limit: SleepLimit? = nil) {
    // A device that will not be woken any more loses its supply at the end of the run.
    guard isAsleep, !monitor.isEnding else { return monitor.ended(isAsleep: isAsleep, as: sleep) }
    // The rest begins before its end can be due; an end without a rest would be ignored, and the supply would stay on.
    rail.rest(monitor.id)
    // Set these actions before the device is reported as asleep, so that a suspension of the machine right after the
    // report counts for them.
    let supplyEnd = [monitor.supplyEndsAfter, limit?.end].compactMap { $0 }.min()
    if let supplyEnd, rail.switch != .none {
      monitor.whileResting(after: supplyEnd) { [weak rail, id = monitor.id] in rail?.endRest(of: id) }
    }
    if let limit { monitor.whileResting(after: limit.renewal) { [renewal] in renewal.perform() } }
    monitor.ended(isAsleep: isAsleep, as: sleep)
  }

  /// Reports that the device measures.
  func tracking() { monitor.tracking() }

  func send(_ sample: Sample) { context.send(sample) }
}
