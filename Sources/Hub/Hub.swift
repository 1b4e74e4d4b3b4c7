import Devices
import Fusion
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// The devices of a board, each as a lazy publisher, and what is derived from them: the fused state, the output of the
/// selected receiver, the time and scheduled fixes.
///
/// A process has one hub. `apply` gives it another board; all subscribers stay subscribed, and the devices that both
/// boards have continue without a change.
public final class Hub: Sendable {
  /// The connections to the devices.
  public let machine: Machine
  /// The devices of the board in service, now and after each change.
  public let registry: Property<DeviceRegistry>
  private let mutableRegistry: MutableProperty<DeviceRegistry>
  /// The fused state, and the leases on the devices that it needs.
  let states: StateFeed
  /// Wakes receivers for the scheduled fixes of clients.
  let fixPlanner: FixPlanner
  /// Watches the battery of the board.
  public let battery: BatteryMonitor
  /// The epochs of the selected receiver, across its failures; no values on a board without a receiver.
  public let epochs: LazyPublisher<GNSSObservation, Never>
  /// The output of the selected receiver: complete sentences and messages as received, several at a time, and epochs.
  public let sentences: LazyPublisher<ReceiverOutput, Never>
  /// The difference between the system clock and the receiver's time, with each epoch that shows it.
  public let clockOffsets: LazyPublisher<ClockOffset, Never>
  /// The last difference between the system clock and the receiver's time, however old.
  public var lastClockOffset: Property<ClockOffset?> { latestClockOffset.readOnly }
  private let latestClockOffset = MutableProperty<ClockOffset?>(nil)
  /// Whether the pulse of the receiver that gives the time is reliable, as last observed; `nil` without such a
  /// receiver, and before the first request for the time.
  public var lastPulse: Property<PulseStatus?> { latestPulse.readOnly }
  private let latestPulse = MutableProperty<PulseStatus?>(nil)
  /// Lets only one board be exchanged at a time. A handler of `registry` that exchanges the board again would wait for
  /// itself; in a debug build, the rank of this lock stops the program instead.
  private let exchange = Guarded((), rank: .boardExchange)
  private let isOver = Guarded(false)
  /// Set to the instant at which an ending hub cuts the supplies of devices that have not stopped.
  private let cutting: Alarm

  public convenience init(board: Board, hardware: any Hardware, clock: any MonotonicTimeSource = MonotonicClock()) {
    self.init(board: board, on: Machine(hardware: hardware, clock: clock))
  }

  public init(board: Board, on machine: Machine) {
    self.machine = machine
    let clock = machine.clock
    cutting = Alarm(clock: machine.supervisor.clock)
    mutableRegistry = MutableProperty(DeviceRegistry(board, on: machine))
    let registry = mutableRegistry.readOnly
    self.registry = registry
    states = StateFeed(of: registry, on: machine)
    epochs = LazyPublisher(deriving: "epochs", clock: clock) { (run) throws(Never) in
      let repeated = RepeatedEpochs()
      let selected = registry.switchToLatest(by: { ObjectIdentifier($0.receivers) }) {
        $0.receivers.wakingEpochs(clock: clock)
      }
      return selected.subscribe(as: run.holders, receiveValue: { if repeated.isNew($0) { run.send($0) } })
    }
    sentences = LazyPublisher(deriving: "sentences", clock: clock) { [epochs] (run) throws(Never) in
      let repeated = RepeatedEpochs()
      let sentences = registry.holdLatest(by: { ObjectIdentifier($0.receivers) }, as: run.holders) {
        $0.receivers.outputs { if repeated.isNew($0) { run.send($0) } }
      }
      let lease = epochs.subscribe(as: run.holders, receiveValue: { _ in })
      return Subscription {
        lease.cancel()
        sentences.cancel()
      }
    }
    clockOffsets = ClockComparison.offsets(
      of: registry, on: machine, last: latestClockOffset, lastPulse: latestPulse)
    fixPlanner = FixPlanner(clock: clock)
    battery = BatteryMonitor(clock: clock)
    for entry in registry.value.entries { entry.reader.follow(entry.description.power) }
    registry.value.beginMeters()
    fixPlanner.begin(on: self)
    battery.limitsChanged { [weak fixPlanner] in fixPlanner?.limitsHaveChanged() }
  }

  // MARK: The board

  public var board: Board { registry.value.board }

  /// Puts another board into service. Devices that both boards have continue without a change, except for settings
  /// that can change while they run. The other devices of the old board are told to stop, without an idle timeout,
  /// because the new board may need their lines. A new device starts once the devices that use the same hardware have
  /// stopped. All subscribers have changed over when this call begins to wait for the old devices.
  ///
  /// - Parameter limit: the longest wait for devices that do not stop
  /// - Returns: the IDs of the devices that have not stopped; their supplies are cut
  @discardableResult
  public func apply(_ board: Board, within limit: Duration? = nil) async -> [String] {
    exchangeBoard(for: board)
    return await machine.leaving.areOff(within: limit, on: machine)
  }

  /// Puts another board into service like `apply`, and does not wait for the old devices. Does nothing after
  /// `shutDown`.
  public func exchangeBoard(for board: Board) {
    exchange.withLock { _ in
      // The clients' leases, which last until the clients leave, would start new devices.
      if isOver.withLock({ $0 }) { return }
      let old = registry.value
      let new = DeviceRegistry(board, on: machine, after: old)
      let ending = old.entries.filter { !new.has($0.reader) }
      let reason = "the board file was reloaded"
      let numbers = ending.map(machine.leaving.add)
      for entry in ending {
        machine.note(entry.reader.monitor.totals, of: entry.reader.monitor.id)
        entry.reader.monitor.ends(because: reason)
      }
      for entry in new.entries where !old.has(entry.reader) {
        machine.leaving.holdBack(entry)
        entry.reader.monitor.open(with: machine.totals(of: entry.reader.monitor.id) ?? RunTotals())
      }
      for entry in new.entries { entry.reader.follow(entry.description.power) }
      new.beginMeters()
      states.change(from: old, to: new) {
        if new.receivers !== old.receivers { (latestClockOffset.value, latestPulse.value) = (nil, nil) }
        // This moves all leases and streams to the new devices, even while another thread is delivering to subscribers.
        mutableRegistry.value = new
        mutableRegistry.settle()
      }
      old.endMeters(except: new)
      fixPlanner.boardHasChanged(from: old, to: new)
      for entry in ending { entry.reader.shutDown(because: reason) }
      for number in numbers { machine.leaving.watch(number, on: machine) }
    }
    // If the hub was shut down in the meantime, that may have ended only the old devices.
    if isOver.withLock({ $0 }) { shutDown() }
  }

  /// Whether `shutDown` was called. A board that was being exchanged then still reaches the subscribers of `registry`.
  public var isEnding: Bool { isOver.withLock { $0 } }

  /// Powers everything off permanently, even if there are subscribers.
  ///
  /// - Parameter limit: after this time, the supplies of devices that have not stopped are cut, even if the caller has
  ///   not called `isOff` yet; `nil` to cut supplies only in `isOff`
  public func shutDown(cuttingAfter limit: Duration? = nil) {
    let wasOver = isOver.withLock { isOver in
      defer { isOver = true }
      return isOver
    }
    if let limit, !wasOver {
      cutting.set(at: machine.supervisor.clock.now + limit) { [weak self] in self?.cutUnended() }
    }
    let devices = registry.value
    let reason = "the hub is shutting down"
    for monitor in devices.monitors { monitor.ends(because: reason) }
    fixPlanner.end()
    battery.end()
    devices.endMeters()
    states.end()
    sentences.shutDown()
    clockOffsets.shutDown()
    epochs.shutDown()
    for reader in devices.readers { reader.shutDown(because: reason) }
    // At the end of the process, minimum times on do not apply, nor do pauses before another attempt. The supply of a
    // device that has left the board file may still be on.
    for rail in machine.switchedRails { rail.end() }
  }

  private func cutUnended() {
    for reader in machine.leaving.devices + registry.value.readers where !reader.isEnded { reader.cutSupply() }
  }

  /// Returns once all readers have ended, so that all power lines are off.
  ///
  /// - Parameter limit: the longest wait for readers and lines that hang; `nil` for no limit
  /// - Returns: the IDs of the devices that are not off, and the names of other lines that hang. The supplies of these
  ///   devices are cut
  @discardableResult
  public func isOff(within limit: Duration? = nil) async -> [String] {
    let devices = machine.leaving.devices + registry.value.readers
    return await LeavingDevices.areOff(devices, and: unusedRails, within: limit, on: machine)
  }

  // MARK: Safety

  /// Drives every power line low, and puts devices without a power line to sleep, whatever state a previous hub left
  /// them in.
  ///
  /// - Parameter isStarting: whether to skip receivers that would take seconds of listening; they sleep after their
  ///   next use
  /// - Returns: the problems
  public func makeSafe(isStarting: Bool = false) -> [String] { madeSafe(isStarting: isStarting).problems }

  /// Makes the devices safe like `makeSafe`, and returns the full results.
  public func madeSafe(isStarting: Bool = false) -> SafetyReport {
    MakingSafe([self], isStarting: isStarting, clock: machine.clock).run().first ?? SafetyReport()
  }
}
