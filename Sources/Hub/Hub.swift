import Devices
import Fusion
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// The devices of one board, each behind its lazy publisher, and the state fused from them.
public final class Hub: Sendable {
  public let board: Board
  /// The name of the board in protocols that know one device: the tty of the selected receiver, or the IMU's bus if
  /// there is no receiver.
  public var mainDevice: String { receivers.taken?.description.port ?? imuPath ?? "none" }
  /// The name of the preferred inertial sensor in these protocols.
  public let imuPath: String?
  /// Its connection.
  public let machine: Machine
  /// In the order of the board file.
  let entries: [BoardDevice]
  /// The receivers, and which of them is taken.
  public let receivers: ReceiverSelection
  /// The preferred receiver.
  public var receiver: ReceiverReader? { receivers.candidates.first?.reader }
  /// The preferred inertial sensor.
  public let imu: IMUReader?
  /// Whether a magnetometer has a share in the state.
  public let hasMagnetometer: Bool
  /// The state fused from all devices that are awake, at the rate at which it changes. Subscribing powers nothing.
  let fused: LazyPublisher<FusedState, Never>
  /// A publisher that keeps the devices of some kinds awake, made once for all its subscribers; it sends nothing.
  private let wakers = Guarded<[Set<DeviceStatus.Kind>: LazyPublisher<Void, Never>]>([:])
  /// The fused state at each requested rate, made once for all its subscribers.
  private let paced = Guarded<[Duration: LazyPublisher<FusedState, Never>]>([:])
  /// The last fused state, however long ago that was. Subscribing to this wakes nothing.
  public var lastState: Property<FusedState?> { latestState.readOnly }
  private let latestState: MutableProperty<FusedState?>
  /// Whether a client wants the fused state, and since when.
  public var fusionRun: Property<FusionRun> { latestFusionRun.readOnly }
  private let latestFusionRun: MutableProperty<FusionRun>
  /// What its receivers last stated, and those of the hubs before it.
  private let lastTime: LastTime
  /// The inputs of the fusion.
  let log: FusionLog
  /// The scheduled fixes, including those of earlier hubs.
  let scheduledFixes: ScheduledFixes
  private let meters = Guarded<[EnergyMeter]>([])
  /// The epochs of the receiver that is taken, however often it fails on the way; nothing on a board without one.
  public let epochs: LazyPublisher<GNSSObservation, Never>
  /// The output of the receiver that is taken: whole sentences and messages as they came, some at a time, and epochs.
  public let sentences: LazyPublisher<ReceiverOutput, Never>
  /// How far the system clock is from the receiver's time, with each epoch that tells.
  public let clockOffsets: LazyPublisher<ClockOffset, Never>
  /// The last of them, however long ago.
  public let lastClockOffset: Property<ClockOffset?>
  /// Whether the pulse of the receiver that tells the time is reliable, as last observed; `nil` without such a
  /// receiver, and before the first request for the time.
  public let lastPulse: Property<PulseStatus?>
  private var clock: any MonotonicTimeSource { machine.clock }

  public convenience init(board: Board, hardware: any Hardware, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.init(board: board, on: Machine(hardware: hardware, clock: clock))
  }

  /// - Parameter predecessor: the hub in whose place this one comes once it has let go; readers of devices that both have go on
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
      entry.reader.monitor.keep(machine.books.book(of: entry.description.id, entry.description.identity))
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
    // The last known position stays valid for a new board file.
    let receiver = receivers.candidates.first?.reader
    let isSame = receiver != nil && receiver === predecessor?.receiver && imu === predecessor?.imu
    let lastState = (isSame ? predecessor?.latestState : nil) ?? MutableProperty(nil)
    if !isSame { lastState.value = nil }
    latestState = lastState
    let fusionRun = MutableProperty(FusionRun(isUnderWay: false, since: clock.now))
    latestFusionRun = fusionRun
    lastTime = predecessor?.lastTime ?? LastTime()
    scheduledFixes = predecessor?.scheduledFixes ?? ScheduledFixes(clock: clock)
    log = FusionLog(
      board, monitors: entries.map(\.reader.monitor), clock: clock, lastState: lastState, fusionRun: fusionRun,
      lastTime: lastTime)
    fused = machine.source.fill(log, from: entries, receivers, on: machine)
    if predecessor == nil { enterService() }
  }

  /// Comes in place of the hub before it, at once. Devices that both have go on and are not touched. The others of the old one are
  /// told to stop, and no caller waits for them: a new device starts once those have stopped that use the same hardware.
  ///
  /// - Parameter changeOver: moves all subscribers to this hub, before it returns
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
    let reason = "the board file was read again"
    for entry in ending { entry.reader.monitor.ends(because: reason) }
    // Whoever listens leaves the old hub before it comes to this one.
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

  /// Begins to measure what devices draw that are awake already, and has devices linger, save and draw as its board file says.
  private func enterService() {
    // Only now: a hub that never enters service leaves its predecessor unchanged.
    for entry in entries { entry.reader.follow(entry.description.power) }
    meters.withLock { $0 = Hub.meters(of: entries) }
    scheduledFixes.enter(self)
  }

  /// One for each supply monitor that sits in a device's wire.
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

  /// The source of motion: the first fused inertial sensor that supports it, unless its owner forbids that, or its
  /// supply would keep a receiver on.
  var motion: MotionWatch? {
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

  /// Those that are fused.
  var magnetometers: [MagnetometerReader] {
    Hub.fused(entries, on: board).compactMap { if case .magnetometer(_, let reader) = $0 { reader } else { nil } }
  }

  /// The same while it is awake for others. Wakes nothing.
  public func overhearSentences(_ receive: @escaping @Sendable (ReceiverOutput) -> Void) -> Subscription {
    receivers.outputs(receive)
  }

  /// The supplies that could not be switched off, in words.
  public var switchProblems: [String] {
    monitors.compactMap { monitor in monitor.switchProblem.map { "\(monitor.id): \($0)" } }
  }

  private var readers: [any Device] { entries.map(\.reader) }

  public var monitors: [DeviceMonitor] { readers.map(\.monitor) }

  /// Those of devices of the boards before that have not stopped yet.
  public var leavingMonitors: [DeviceMonitor] { machine.leaving.devices.map(\.monitor) }

  /// The status of every device as of now. Wakes nothing.
  public var devices: [DeviceStatus] {
    let schedules = scheduledFixes.reports(by: self)
    return entries.map { entry in
      var status = entry.reader.monitor.status
      if receivers.candidates.contains(where: { $0.description.id == status.id }) { status.schedules = schedules }
      status.calibrations = entry.description.calibration?.entries ?? [:]
      status.origin = machine.origin(of: entry.description)
      if case .receiver(_, let reader) = entry { status.corrections = reader.corrections.status }
      return status
    }
  }

  /// Drives every power line to its safe level, and puts devices without one to sleep, whatever a previous hub left.
  ///
  /// - Parameter isStarting: skips receivers that would have to be heard for seconds: they sleep after the next visit
  /// - Returns: the problems
  public func makeSafe(isStarting: Bool = false) -> [String] { madeSafe(isStarting: isStarting).problems }

  /// The same, with its results.
  public func madeSafe(isStarting: Bool = false) -> SafetyReport {
    MakingSafe([self], isStarting: isStarting, clock: clock).run().first ?? SafetyReport()
  }

  /// The devices with a power line that could not be driven once since the hub began, by their IDs: it is as it was found.
  public var undrivenLines: [String] {
    readers.filter { $0.rail.switch != .none && !$0.rail.hasBeenDriven }.map(\.monitor.id)
  }

  /// Where there is no pulse although the board file names its source, and why.
  public var pulseProblems: [String] {
    receivers.candidates.compactMap { receiver in
      guard let path = receiver.description.pulse else { return nil }
      do throws(HardwareError) {
        _ = try PulsePerSecond(path)
        return nil
      } catch {
        return "\(receiver.description.id): no pulse, so the time is as good as the serial line is: \(error)"
      }
    }
  }

  /// Powers everything off now and for good, whoever listens.
  public func shutDown() {
    let reason = "the hub is shutting down"
    for reader in readers { reader.monitor.ends(because: reason) }
    scheduledFixes.leave(self, isSucceeded: false)
    for meter in meters.withLock({ $0 }) { meter.end() }
    endStates()
    for reader in readers { reader.shutDown(because: reason) }
    // What ends with the process has no least time on.
    for reader in machine.leaving.devices + readers { reader.rail.end() }
  }

  /// Another hub serves from here on.
  private func leaveService() {
    scheduledFixes.leave(self, isSucceeded: true)
    for meter in meters.withLock({ $0 }) { meter.end() }
  }

  /// What is derived from devices ends, whoever listens.
  private func endStates() {
    fused.shutDown()
    for waker in wakers.withLock({ Array($0.values) }) { waker.shutDown() }
    sentences.shutDown()
    clockOffsets.shutDown()
    epochs.shutDown()
  }

  /// Returns once no reader is inside its scope any more, that is, once all power lines are off.
  ///
  /// - Parameter limit: how long it waits at most: a reader, or a line, may hang for ever. `nil` for no limit
  /// - Returns: the devices of which that is not so, by their IDs; their supplies are cut
  @discardableResult
  public func isOff(within limit: Duration? = nil) async -> [String] {
    await Hub.isOff(machine.leaving.devices + readers, within: limit, machine)
  }

  /// Returns once the devices of the boards before have stopped.
  ///
  /// - Parameter limit: how long it waits at most. `nil` for no limit
  /// - Returns: the devices that have not, by their IDs; their supplies are cut
  @discardableResult
  public func hasTakenOver(within limit: Duration? = nil) async -> [String] {
    await Hub.isOff(machine.leaving.devices, within: limit, machine)
  }

  private static func isOff(_ ending: [any Device], within limit: Duration?, _ machine: Machine) async -> [String] {
    let clock = machine.supervisor.clock
    let deadline = limit.map { clock.now + $0 }
    // The last part of the time is for cutting supplies.
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
  /// - Returns: those for which the time was not enough
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

  /// Keeps what is awake for subscribers awake, while they go over to another hub that has it too.
  func bridge(to successor: Hub) -> Lifetime {
    let (lifetime, reload) = (Lifetime(), Holder.standIn("reload"))
    for reader in readers where successor.has(reader) {
      if reader.isHeld { reader.wakefulness.subscribe(as: reload, receiveValue: { _ in }).store(in: lifetime) }
      guard let stillness = reader.stillness, stillness.isHeld else { continue }
      stillness.subscribe(as: reload, receiveValue: { _ in }).store(in: lifetime)
    }
    return lifetime
  }

  /// The fused state, at the rate at which it changes. Subscribing powers the devices.
  public var state: Deferred<FusedState, Never> { state(parts: .all) }

  /// The fused state of everything that is awake, at the rate at which it changes. Subscribing powers the devices that
  /// measure some parts of it; others are included while they are awake for other holders.
  public func state(parts: Set<StatePart>) -> Deferred<FusedState, Never> { waking(parts, fused) }

  /// The devices whose measurements are fused.
  private static func fused(_ entries: [BoardDevice], on board: Board) -> [BoardDevice] {
    entries.filter { board.fusedDevices.contains($0.description.id) }
  }

  /// The same at a rate of the subscriber's own. All who want the same one of the usual rates get the same values at the same
  /// instants.
  public func state(rateHz: Double, parts: Set<StatePart> = .all) -> Deferred<FusedState, Never> {
    let interval = Duration.nanoseconds(Int64(1e9 / rateHz))
    let paced = fused.throttled(to: interval, clock: clock)
    // A subscriber with a low rate gets the first state at once, and not when it is due for others.
    return waking(parts, interval > .seconds(1) ? paced : Deferred { [self] _ in shared(paced, interval) })
  }

  private func waking(
    _ parts: Set<StatePart>, _ states: some Publisher<FusedState, Never>
  ) -> Deferred<FusedState, Never> {
    states.holding(waker(parts.kinds(on: board)), as: { $0.wanting(parts) })
  }

  func waker(_ kinds: Set<DeviceStatus.Kind>) -> LazyPublisher<Void, Never> {
    wakers.withLock { wakers in
      if let waker = wakers[kinds] { return waker }
      let name =
        "state of \(DeviceStatus.Kind.allCases.filter(kinds.contains).map(\.rawValue).joined(separator: " and "))"
      let devices = Hub.fused(entries, on: board).filter { kinds.contains($0.description.kind) }
      // One inertial sensor is enough, while it works; what other kinds measure is the better for each of them.
      let imus = devices.filter { $0.description.kind == .imu }.map(\.reader)
      let others = devices.filter { $0.description.kind != .imu }.map(\.reader)
      let clock = clock
      let waker = LazyPublisher<Void, Never>(deriving: name, clock: clock) { (run) throws(Never) in
        let lifetime = Lifetime()
        for reader in others {
          reader.wakefulness.subscribe(as: run.holders, receiveValue: { _ in }).store(in: lifetime)
        }
        let standby = StandbyLease(imus[...], as: run.holders, clock: clock)
        Subscription { standby.end() }.store(in: lifetime)
        return Subscription { lifetime.end() }
      }
      wakers[kinds] = waker
      return waker
    }
  }

  private func shared(_ states: Deferred<FusedState, Never>, _ interval: Duration) -> LazyPublisher<FusedState, Never> {
    paced.withLock { paced in
      if let publisher = paced[interval] { return publisher }
      // Clients choose the rates: those without subscribers are forgotten after a while.
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

  /// The epochs of the receiver that is taken while it is awake for others. Wakes nothing.
  public var overheardEpochs: Deferred<GNSSObservation, Never> {
    Deferred { [receivers, clock] holders in
      LazyPublisher(deriving: holders.label, clock: clock) { (run) throws(Never) in
        receivers.epochs(as: run.holders, wakes: false) { observation, _ in run.send(observation) }
      }
    }
  }

  /// What a magnetometer measures while it is awake for others, in the chip's axes; `nil` for an unknown one. Wakes nothing.
  public func overheardFields(of id: String) -> Deferred<MagnetometerSample, Never>? {
    magnetometer(id)?.readings.overheard
  }

  /// The output of one receiver, whichever is taken; `nil` for an unknown one. Subscribing wakes it.
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

  /// What one receiver reports, whichever is taken; `nil` for an unknown one.
  public func epochs(of id: String) -> LazyPublisher<GNSSObservation, Never>? {
    receivers.candidates.first { $0.description.id == id }?.reader.device.readings
  }

  /// Keeps a device's own run going, as while it lingers, and sends nothing; `nil` for an unknown device.
  public func keepRunning(_ id: String, as holder: Holder) -> Subscription? {
    readers.first { $0.monitor.id == id }?.keepRunning(as: holder)
  }

  /// Keeps a device awake, and sends nothing; `nil` for an unknown device.
  public func wakefulness(of id: String) -> Deferred<Void, Never>? {
    readers.first { $0.monitor.id == id }?.wakefulness
  }
}

extension Holder {
  /// As it holds devices for some parts of the state: `watch (attitude)`.
  public func wanting(_ parts: Set<StatePart>) -> Holder {
    parts == .all ? self : labelled("\(label) (\(parts.names))")
  }
}
