import Devices
import Fusion
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// The devices of one board, each as a lazy publisher, and what is derived from them: the fused state, the output of
/// the selected receiver, the time and scheduled fixes.
public final class Hub: Sendable {
  public let board: Board
  /// The name of the board in protocols with only one device: the tty of the selected receiver, the IMU's bus without a
  /// receiver, or `none`.
  public var mainDevice: String { receivers.taken?.description.port ?? imuPath ?? "none" }
  /// The bus of the preferred inertial sensor.
  public let imuPath: String?
  /// The connections to the devices.
  public let machine: Machine
  /// The devices in the order of the board file.
  let entries: [BoardDevice]
  /// The receivers, and the selected one.
  public let receivers: ReceiverSelection
  /// The preferred receiver.
  public var receiver: ReceiverReader? { receivers.candidates.first?.reader }
  /// The preferred inertial sensor.
  public let imu: IMUReader?
  /// Whether the state uses a magnetometer.
  public let hasMagnetometer: Bool
  /// The state that is fused from all awake devices, at the rate at which it changes. A subscription powers nothing.
  let fused: LazyPublisher<FusedState, Never>
  /// The publishers that keep devices of some kinds awake, one for all subscribers. They send nothing.
  private let powerLeases = Guarded<[Set<DeviceStatus.Kind>: LazyPublisher<Void, Never>]>([:])
  /// The fused state at each requested rate, one publisher for all subscribers.
  private let paced = Guarded<[Duration: LazyPublisher<FusedState, Never>]>([:])
  /// The last fused state, however old. A subscription wakes nothing.
  public var lastState: Property<FusedState?> { latestState.readOnly }
  private let latestState: MutableProperty<FusedState?>
  /// Whether a client uses the fused state, and since when.
  public var fusionRun: Property<FusionRun> { latestFusionRun.readOnly }
  private let latestFusionRun: MutableProperty<FusionRun>
  /// The UTC time that a receiver reported most recently, also during an earlier hub.
  private let lastTime: LastTime
  /// Orders the inputs of the fusion, and fuses them.
  let log: FusionLog
  /// The scheduled fixes, including those of earlier hubs.
  let fixPlanner: FixPlanner
  private let meters = Guarded<[EnergyMeter]>([])
  /// The epochs of the selected receiver, across its failures; no values on a board without a receiver.
  public let epochs: LazyPublisher<GNSSObservation, Never>
  /// The output of the selected receiver: complete sentences and messages as received, several at a time, and epochs.
  public let sentences: LazyPublisher<ReceiverOutput, Never>
  /// The difference between the system clock and the receiver's time, with each epoch that shows it.
  public let clockOffsets: LazyPublisher<ClockOffset, Never>
  /// The last difference between the system clock and the receiver's time, however old.
  public let lastClockOffset: Property<ClockOffset?>
  /// Whether the pulse of the receiver that gives the time is reliable, as last observed; `nil` without such a
  /// receiver, and before the first request for the time.
  public let lastPulse: Property<PulseStatus?>
  private var clock: any MonotonicTimeSource { machine.clock }

  public convenience init(board: Board, hardware: any Hardware, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.init(board: board, on: Machine(hardware: hardware, clock: clock))
  }

  /// - Parameter predecessor: the hub that this one will replace with `takeOver`; both share the readers of devices
  ///   that did not change
  public init(board: Board, on machine: Machine, succeeding predecessor: Hub? = nil) {
    self.board = board
    self.machine = machine
    let clock = machine.clock
    let entries = board.devicesWithSharedTimes.map { description in
      predecessor?.entries.lazy.compactMap { $0.described(as: description) }.first
        ?? machine.source.device(description, on: machine)
    }
    self.entries = entries
    for entry in entries {
      entry.reader.monitor.keep(
        machine.usageHistories.usageHistory(of: entry.description.id, entry.description.identity))
    }
    let receivers = ReceiverSelection(entries, on: board)
    self.receivers = receivers
    let imu = board.imu.flatMap { Hub.imu($0.id, of: entries) }
    imuPath = board.imu?.place.bus
    self.imu = imu
    hasMagnetometer = board.fusedKinds.contains(.magnetometer)
    epochs = LazyPublisher(deriving: "epochs", clock: clock) { (run) throws(Never) in
      receivers.epochs(as: run.holders, wakes: true) { observation, _ in run.send(observation) }
    }
    sentences = LazyPublisher(deriving: "sentences", clock: clock) { [epochs] (run) throws(Never) in
      let sentences = receivers.outputs { run.send($0) }
      let lease = epochs.subscribe(as: run.holders, receiveValue: { _ in })
      return Subscription {
        lease.cancel()
        sentences.cancel()
      }
    }
    let lastClockOffset = MutableProperty<ClockOffset?>(nil)
    self.lastClockOffset = lastClockOffset.readOnly
    let lastPulse = MutableProperty<PulseStatus?>(nil)
    self.lastPulse = lastPulse.readOnly
    clockOffsets = ClockComparison.publisher(
      of: receivers, on: machine, last: lastClockOffset, lastPulse: lastPulse)
    // The last known state stays valid if the new board file has the same receiver and IMU.
    let receiver = receivers.candidates.first?.reader
    let isSame = receiver != nil && receiver === predecessor?.receiver && imu === predecessor?.imu
    let lastState = (isSame ? predecessor?.latestState : nil) ?? MutableProperty(nil)
    if !isSame { lastState.value = nil }
    latestState = lastState
    let fusionRun = MutableProperty(FusionRun(isUnderWay: false, since: clock.now))
    latestFusionRun = fusionRun
    lastTime = predecessor?.lastTime ?? LastTime()
    fixPlanner = predecessor?.fixPlanner ?? FixPlanner(clock: clock)
    log = FusionLog(
      board, monitors: entries.map(\.reader.monitor), clock: clock, lastState: lastState, fusionRun: fusionRun,
      lastTime: lastTime)
    fused = machine.source.fill(log, from: entries, receivers, on: machine)
    if predecessor == nil { enterService() }
  }

  /// Replaces the previous hub at once. Devices that both have continue without a change. The old hub's other devices
  /// are told to stop, and no caller waits for them. A new device starts once the devices that use the same hardware
  /// have stopped.
  ///
  /// - Parameter changeOver: moves all subscribers to this hub before it returns
  public func takeOver(from old: Hub, changeOver: () -> Void) {
    let ending = old.entries.filter { !has($0.reader) }
    let numbers = ending.map(machine.leaving.add)
    for entry in ending {
      let monitor = entry.reader.monitor
      machine.note(monitor.totals, of: monitor.id)
    }
    for entry in entries where !old.has(entry.reader) {
      let monitor = entry.reader.monitor
      machine.leaving.holdBack(entry)
      monitor.open(with: machine.totals(of: monitor.id) ?? RunTotals())
    }
    let reason = "the board file was reloaded"
    for entry in ending { entry.reader.monitor.ends(because: reason) }
    // A subscriber leaves the old hub before it joins this one. The bridge keeps the shared devices awake in between.
    let bridge = old.bridge(to: self)
    old.log.isSucceeded(by: log)
    old.leaveService()
    enterService()
    changeOver()
    old.endStates()
    bridge.end()
    for entry in ending { entry.reader.shutDown(because: reason) }
    for number in numbers { machine.leaving.watch(number, on: machine) }
  }

  /// Begins to measure the power of awake devices, applies the board file's power settings to all devices, and takes
  /// over the scheduled fixes.
  private func enterService() {
    // Do this here and not earlier, so that a hub that never enters service leaves its predecessor unchanged.
    for entry in entries { entry.reader.follow(entry.description.power) }
    meters.withLock { $0 = Hub.meters(of: entries) }
    fixPlanner.enter(self)
  }

  /// The energy meters, one for each supply monitor in a device's line.
  private static func meters(of entries: [BoardDevice]) -> [EnergyMeter] {
    entries.compactMap { entry in
      guard case .supplyMonitor(let description, let reader) = entry else { return nil }
      let devices = entries.filter { $0.description.power.monitor == description.id }.map(\.reader.monitor)
      return devices.isEmpty ? nil : EnergyMeter(of: devices, description, reader)
    }
  }

  private static func imu(_ id: String, of entries: [BoardDevice]) -> IMUReader? {
    entries.lazy.compactMap {
      if case .imu(let description, let reader) = $0, description.id == id { reader } else { nil }
    }
    .first
  }

  /// The receivers for which the board file names a caster.
  public var correctedReceivers: [(id: String, caster: CasterSettings, corrections: ReceiverCorrections)] {
    entries.compactMap { entry in
      guard case .receiver(let description, let reader) = entry, let caster = description.caster else { return nil }
      return (description.id, caster, reader.corrections)
    }
  }

  func imu(_ id: String) -> IMUReader? { Hub.imu(id, of: entries) }

  /// The detector of motion that lets receivers sleep: the first fused inertial sensor that has one, that the board
  /// file permits, and that shares no supply with a receiver, because the receiver would stay on; `nil` if there is
  /// none.
  var motion: StillnessMonitor? {
    for case .imu(let description, let reader) in Hub.fused(entries, on: board) {
      guard description.wakesOnMotion, let motion = reader.motion else { continue }
      let isWithReceiver = entries.contains { entry in
        if case .receiver(_, let receiver) = entry { receiver.device.rail === reader.rail } else { false }
      }
      if !isWithReceiver { return motion }
    }
    return nil
  }

  func magnetometer(_ id: String) -> MagnetometerReader? {
    entries.lazy.compactMap { entry in
      if case .magnetometer(let description, let reader) = entry, description.id == id { reader } else { nil }
    }.first
  }

  /// The fused magnetometers.
  var magnetometers: [MagnetometerReader] {
    Hub.fused(entries, on: board).compactMap { if case .magnetometer(_, let reader) = $0 { reader } else { nil } }
  }

  /// Passes on the output of the selected receiver while other clients keep it awake. Wakes nothing.
  public func observeSentences(_ receive: @escaping @Sendable (ReceiverOutput) -> Void) -> Subscription {
    receivers.outputs(receive)
  }

  /// The supplies that could not be switched off, in words.
  public var switchProblems: [String] {
    monitors.compactMap { monitor in monitor.switchProblem.map { "\(monitor.id): \($0)" } }
  }

  private var readers: [any Device] { entries.map(\.reader) }

  public var monitors: [DeviceMonitor] { readers.map(\.monitor) }

  /// The monitors of devices of earlier boards that have not stopped yet.
  public var leavingMonitors: [DeviceMonitor] { machine.leaving.devices.map(\.monitor) }

  /// The present status of every device. Wakes nothing.
  public var devices: [DeviceStatus] {
    let schedules = fixPlanner.reports(by: self)
    return entries.map { entry in
      var status = entry.reader.monitor.status
      if receivers.candidates.contains(where: { $0.description.id == status.id }) { status.schedules = schedules }
      status.calibrations = entry.description.calibration?.entries ?? [:]
      status.origin = machine.origin(of: entry.description)
      if case .receiver(_, let reader) = entry { status.corrections = reader.corrections.status }
      return status
    }
  }

  /// Drives every power line low, and puts devices without a power line to sleep, however a previous hub left them.
  ///
  /// - Parameter isStarting: whether to skip receivers that would take seconds of listening; they sleep after their
  ///   next use
  /// - Returns: the problems
  public func makeSafe(isStarting: Bool = false) -> [String] { madeSafe(isStarting: isStarting).problems }

  /// Makes the devices safe like `makeSafe`, and returns the full results.
  public func madeSafe(isStarting: Bool = false) -> SafetyReport {
    MakingSafe([self], isStarting: isStarting, clock: clock).run().first ?? SafetyReport()
  }

  /// The IDs of devices whose power line the hub has never driven, so that the line is as the hub found it.
  public var undrivenLines: [String] {
    readers.filter { $0.rail.switch != .none && !$0.rail.hasBeenDriven }.map(\.monitor.id)
  }

  /// The reasons why there is no pulse although the board file names its source.
  public var pulseProblems: [String] {
    receivers.candidates.compactMap { receiver in
      guard let path = receiver.description.pulse else { return nil }
      do throws(HardwareError) {
        _ = try PulsePerSecond(path)
        return nil
      } catch {
        return "\(receiver.description.id): no pulse, so the time is only as accurate as the serial line: \(error)"
      }
    }
  }

  /// Powers everything off permanently, even if there are subscribers.
  public func shutDown() {
    let reason = "the hub is shutting down"
    for reader in readers { reader.monitor.ends(because: reason) }
    fixPlanner.leave(self, isSucceeded: false)
    for meter in meters.withLock({ $0 }) { meter.end() }
    endStates()
    for reader in readers { reader.shutDown(because: reason) }
    // At the end of the process, minimum times on do not apply.
    for reader in machine.leaving.devices + readers { reader.rail.end() }
  }

  /// Leaves service, because another hub replaces this one.
  private func leaveService() {
    fixPlanner.leave(self, isSucceeded: true)
    for meter in meters.withLock({ $0 }) { meter.end() }
  }

  /// Ends the publishers that are derived from devices, even if they have subscribers.
  private func endStates() {
    fused.shutDown()
    for powerLease in powerLeases.withLock({ Array($0.values) }) { powerLease.shutDown() }
    sentences.shutDown()
    clockOffsets.shutDown()
    epochs.shutDown()
  }

  /// Returns once all readers have ended, so that all power lines are off.
  ///
  /// - Parameter limit: the longest wait for readers and lines that hang; `nil` for no limit
  /// - Returns: the IDs of the devices that are not off; their supplies are cut
  @discardableResult
  public func isOff(within limit: Duration? = nil) async -> [String] {
    await Hub.isOff(machine.leaving.devices + readers, within: limit, machine)
  }

  /// Returns once the devices of earlier boards have stopped.
  ///
  /// - Parameter limit: the longest wait; `nil` for no limit
  /// - Returns: the IDs of the devices that have not stopped; their supplies are cut
  @discardableResult
  public func hasTakenOver(within limit: Duration? = nil) async -> [String] {
    await Hub.isOff(machine.leaving.devices, within: limit, machine)
  }

  private static func isOff(_ ending: [any Device], within limit: Duration?, _ machine: Machine) async -> [String] {
    let clock = machine.supervisor.clock
    let deadline = limit.map { clock.now + $0 }
    // The last half second is for cutting supplies.
    let late = await Hub.unended(ending, until: deadline.map { $0 + .milliseconds(-500) }, clock) { await $0.isOff() }
    for reader in late { reader.cutSupply() }
    let stuck = await Hub.unended(late, until: deadline, clock) { await $0.rail.isSettled() }
    return late.isEmpty
      ? []
      : (late + stuck).map(\.monitor.id).reduce(into: []) { ids, id in
        if !ids.contains(id) { ids.append(id) }
      }
  }

  /// Waits for all readers at the same time.
  ///
  /// - Returns: the readers that did not end in time
  private static func unended(
    _ readers: [any Device], until deadline: MonotonicInstant?, _ clock: any MonotonicTimeSource,
    _ end: @escaping @Sendable (any Device) async -> Void
  ) async -> [any Device] {
    await withTaskGroup(of: Int?.self) { group in
      var unended = Set(readers.indices)
      for (index, reader) in readers.enumerated() {
        group.addTask {
          await end(reader)
          return Task.isCancelled ? nil : index
        }
      }
      if let deadline {
        group.addTask {
          try? await clock.sleep(until: deadline, tolerance: nil)
          return nil
        }
      }
      while !unended.isEmpty, let ended = await group.next(), let index = ended { unended.remove(index) }
      group.cancelAll()
      return unended.sorted().map { readers[$0] }
    }
  }

  private func has(_ reader: any Device) -> Bool { readers.contains { $0 === reader } }

  /// Keeps devices awake while their subscribers move to another hub that also has these devices.
  func bridge(to successor: Hub) -> Lifetime {
    let (lifetime, reload) = (Lifetime(), Holder.standIn("reload"))
    for reader in readers where successor.has(reader) {
      if reader.isHeld { reader.powerLease.subscribe(as: reload, receiveValue: { _ in }).store(in: lifetime) }
      guard let stillness = reader.stillness, stillness.isHeld else { continue }
      stillness.subscribe(as: reload, receiveValue: { _ in }).store(in: lifetime)
    }
    return lifetime
  }

  /// The fused state, at the rate at which it changes. A subscription powers all fused devices.
  public var state: Deferred<FusedState, Never> { state(parts: .all) }

  /// The fused state of all awake devices, at the rate at which it changes. A subscription powers the devices that
  /// measure some parts of the state. The other parts are included while other clients keep their devices awake.
  public func state(parts: Set<StatePart>) -> Deferred<FusedState, Never> { waking(parts, fused) }

  /// The devices whose measurements are fused.
  private static func fused(_ entries: [BoardDevice], on board: Board) -> [BoardDevice] {
    entries.filter { board.fusedDevices.contains($0.description.id) }
  }

  /// The fused state at the subscriber's rate. All subscribers of the same rate of at least 1 Hz get the same values at
  /// the same instants.
  public func state(rateHz: Double, parts: Set<StatePart> = .all) -> Deferred<FusedState, Never> {
    let interval = Duration.nanoseconds(Int64(1e9 / rateHz))
    let paced = fused.throttled(to: interval, clock: clock)
    // A subscriber with a low rate gets its first state at once, and does not wait for the instant of other
    // subscribers.
    return waking(parts, interval > .seconds(1) ? paced : Deferred { [self] _ in shared(paced, interval) })
  }

  private func waking(
    _ parts: Set<StatePart>, _ states: some Publisher<FusedState, Never>
  ) -> Deferred<FusedState, Never> {
    states.withLease(on: powerLease(parts.kinds(on: board)), as: { $0.wanting(parts) })
  }

  func powerLease(_ kinds: Set<DeviceStatus.Kind>) -> LazyPublisher<Void, Never> {
    powerLeases.withLock { powerLeases in
      if let powerLease = powerLeases[kinds] { return powerLease }
      let name =
        "state of \(DeviceStatus.Kind.allCases.filter(kinds.contains).map(\.rawValue).joined(separator: " and "))"
      let devices = Hub.fused(entries, on: board).filter { kinds.contains($0.description.kind) }
      // One working inertial sensor is enough. Of the other kinds, each device improves the measurements.
      let imus = devices.filter { $0.description.kind == .imu }.map(\.reader)
      let others = devices.filter { $0.description.kind != .imu }.map(\.reader)
      let clock = clock
      let powerLease = LazyPublisher<Void, Never>(deriving: name, clock: clock) { (run) throws(Never) in
        let lifetime = Lifetime()
        for reader in others {
          reader.powerLease.subscribe(as: run.holders, receiveValue: { _ in }).store(in: lifetime)
        }
        let standby = StandbyLease(imus[...], as: run.holders, clock: clock)
        Subscription { standby.end() }.store(in: lifetime)
        return Subscription { lifetime.end() }
      }
      powerLeases[kinds] = powerLease
      return powerLease
    }
  }

  private func shared(_ states: Deferred<FusedState, Never>, _ interval: Duration) -> LazyPublisher<FusedState, Never> {
    paced.withLock { paced in
      if let publisher = paced[interval] { return publisher }
      // Clients choose the rates, so publishers that have had no subscribers for ten seconds are removed.
      paced = paced.filter { publisher in
        let activity = publisher.value.activity.value
        return activity.phase != .idle || clock.now - activity.since < .seconds(10)
      }
      let publisher = states.shared(as: "state every \(interval)", clock: clock)
      paced[interval] = publisher
      return publisher
    }
  }

  /// The last state of the present run, unless it is older than `lifetime`; `nil` without a run.
  public func presentState(at now: MonotonicInstant, within lifetime: Duration) -> FusedState? {
    let activity = fused.activity.value
    guard activity.phase == .running, let last = lastState.value, last.at >= activity.since, now - last.at <= lifetime
    else { return nil }
    return last
  }

  /// The epochs of the selected receiver while other clients keep it awake. Wakes nothing.
  public var observedEpochs: Deferred<GNSSObservation, Never> {
    Deferred { [receivers, clock] holders in
      LazyPublisher(deriving: holders.label, clock: clock) { (run) throws(Never) in
        receivers.epochs(as: run.holders, wakes: false) { observation, _ in run.send(observation) }
      }
    }
  }

  /// The measurements of a magnetometer while other clients keep it awake, in the chip's axes; `nil` for an unknown
  /// ID. Wakes nothing.
  public func observedFields(of id: String) -> Deferred<MagnetometerSample, Never>? {
    magnetometer(id)?.readings.observed
  }

  /// The output of one receiver, whether the fusion uses it or not; `nil` for an unknown ID. A subscription wakes it.
  public func sentences(of id: String) -> Deferred<ReceiverOutput, Never>? {
    receivers.candidates.first { $0.description.id == id }.map { receiver in
      Deferred { [clock] holders in
        LazyPublisher(deriving: holders.label, clock: clock) { (run) throws(Never) in
          let sentences = receiver.reader.forwardBytes { run.send(.bytes($0)) }
          let lease = receiver.reader.device.readings.subscribe(
            as: run.holders, receiveValue: { run.send(.epoch($0)) })
          return Subscription {
            lease.cancel()
            sentences.cancel()
          }
        }
      }
    }
  }

  /// The epochs of one receiver, whether the fusion uses it or not; `nil` for an unknown ID. A subscription wakes it.
  public func epochs(of id: String) -> LazyPublisher<GNSSObservation, Never>? {
    receivers.candidates.first { $0.description.id == id }?.reader.device.readings
  }

  /// Keeps a running device on without sending values, as its idle timeout does; `nil` for an unknown device.
  public func keepRunning(_ id: String, as holder: Holder) -> Subscription? {
    readers.first { $0.monitor.id == id }?.keepRunning(as: holder)
  }

  /// Keeps a device awake without sending values; `nil` for an unknown device.
  public func powerLease(of id: String) -> Deferred<Void, Never>? {
    readers.first { $0.monitor.id == id }?.powerLease
  }
}

extension Holder {
  /// The holder as it appears while it holds devices for some parts of the state: `watch (attitude)`.
  public func wanting(_ parts: Set<StatePart>) -> Holder {
    parts == .all ? self : labelled("\(label) (\(parts.names))")
  }
}
