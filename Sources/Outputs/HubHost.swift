import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing
import Recording

/// The hub, and the objects that its outputs share.
public final class HubHost: Sendable {
  /// How long devices may take to stop. The systemd unit allows more (`TimeoutStopSec`).
  public static let longestEnd = Duration.seconds(4)

  public let hub: Hub
  /// The replayed recording; `nil` if the hub has devices.
  public let replay: ReplaySession?
  /// The store of calibrations; `nil` in a replay, which has no chips.
  let calibrations: (any CalibrationStore)?
  /// Moves a simulated board for a calibration; `nil` if nothing is simulated.
  let rehearsal: (any CalibrationRehearsal)?
  /// The name of the client that calibrates. Only one client calibrates at a time.
  let calibrator = Guarded<String?>(nil)
  /// The services with slots, which a user with the right to make lasting changes (`LocalRights`) can release.
  let slotOwners = SlotOwners()
  /// The version of the program, for example `0.2.0`.
  public let version: String
  /// The counts of clients and dropped values of each output.
  public let traffic = OutputTraffic()
  /// The counts of all recordings since the program started.
  public let recording = RecordingCounters()
  /// The fences, and whether the board is inside each of them.
  public let fences: Fences
  /// The standing requests of the board file.
  public let requests = StandingRequests()
  /// The problems of devices and of the board file.
  public let conditions: ConditionFeed
  let fenceEvents = Subject<FenceStatus, Never>()
  /// The shutdowns and sleeps of the board and their ends, for the hooks.
  let shutdownNotices = Subject<BoardShutdownNotice, Never>()
  /// Writes the recording to the disk; `nil` without a recorder.
  let recordingSaver = Guarded<Callback?>(nil)
  /// The sleep of the machine, and the totals of all sleeps; `nil` on a board that does not sleep.
  public var boardSleep: Property<BoardSleepReport?> { latestBoardSleep.readOnly }
  let latestBoardSleep = MutableProperty<BoardSleepReport?>(nil)
  /// The hub's connection to its broker; `nil` without a broker.
  let fleetLink = Guarded<FleetLink?>(nil)
  private let isOver = Guarded(false)
  /// How long the machine may take to shut down once logind has agreed. systemd ends the hub long before.
  static let shutdownPatience = Duration.seconds(180)
  private let shutdownAlarm: Alarm
  private let staysOn = Guarded((isKnown: false, action: Callback?.none))
  private let text: Guarded<[UInt8]?>

  /// - Parameter boardText: the text of the board file, if there is one
  public init(
    _ hub: Hub, version: String, boardText: [UInt8]? = nil, replay: ReplaySession? = nil,
    calibrations: (any CalibrationStore)? = nil, rehearsal: (any CalibrationRehearsal)? = nil
  ) {
    self.replay = replay
    self.calibrations = calibrations
    self.rehearsal = rehearsal
    self.hub = hub
    fences = Fences(clock: hub.machine.clock)
    conditions = ConditionFeed(clock: hub.machine.clock)
    self.version = version
    shutdownAlarm = Alarm(clock: hub.machine.clock)
    text = Guarded(boardText)
  }

  /// The text of the board file in service.
  var boardText: [UInt8]? { text.withLock { $0 } }

  /// Writes the hub's recording to the disk. Returns once it is there, or the recorder's time limit is over.
  func saveRecordings() { recordingSaver.withLock { $0 }?() }

  /// The present time of the clock that stamps the measurements.
  var now: MonotonicInstant { hub.machine.clock.now }

  /// Puts another board into service at once. Devices that both boards share continue. The old board's other devices
  /// are switched off without an idle timeout, because the new board may need their lines. Returns when the old devices
  /// have stopped, or after `longestEnd`.
  ///
  /// - Parameter text: the text of the board file
  /// - Returns: the devices of the old board that have not stopped, its supplies that could not be switched off, and
  ///   the problems of the new board's supplies and pulse; `nil` if the host shuts down in the meantime
  public func serve(_ board: Board, text: [UInt8]? = nil) async -> [String]? {
    if isOver.withLock({ $0 }) { return nil }
    let old = hub.registry.value
    self.text.withLock { $0 = text }
    // Only the caller waits for the old devices, not the subscribers.
    let stuck = await hub.apply(board, within: HubHost.longestEnd)
    if isOver.withLock({ $0 }) { return nil }
    let unended = stuck.map {
      "\($0): it has not stopped; a device that uses the same hardware starts as soon as it has stopped"
    }
    return unended + old.switchProblems + hub.makeSafe(isStarting: true) + hub.registry.value.pulseProblems
  }

  /// Whether `shutDown` was called.
  var isEnding: Bool { isOver.withLock { $0 } }

  /// Switches all devices off permanently, even if they have subscribers. The supplies of devices that do not stop are
  /// cut after `longestEnd`, even if the end of the other services takes longer.
  public func shutDown() {
    isOver.withLock { $0 = true }
    hub.shutDown(cuttingAfter: HubHost.longestEnd)
  }

  /// Switches all devices off permanently, because logind has agreed to switch the machine off.
  func shutDownWithMachine() {
    shutDown()
    shutdownAlarm.set(at: now + HubHost.shutdownPatience) { [weak self] in self?.wasNotSwitchedOff() }
  }

  private func wasNotSwitchedOff() {
    let action = staysOn.withLock { staysOn in
      staysOn.isKnown = true
      return staysOn.action
    }
    action?()
  }

  /// Whether the machine is still on although logind had agreed to switch it off. The hub has no devices then, and must
  /// start again.
  public var machineStaysOn: Bool { staysOn.withLock { $0.isKnown } }

  /// Calls back once `machineStaysOn` is true.
  public func whenMachineStaysOn(_ action: @escaping @Sendable () -> Void) {
    staysOn.withLock { $0.action = Callback(action) }
  }

  /// Plays a recording of another board. The previous board's devices stop at once. Does nothing if the board is the
  /// same.
  public func serveReplay(on board: Board) {
    if board != hub.board { hub.exchangeBoard(for: board) }
  }

  /// The reason why the board has no fixes, and the next step; `nil` on a board with a fused receiver.
  var lackOfFixes: String? {
    guard Set([StatePart.position]).kinds(on: hub.board).isEmpty else { return nil }
    return
      "this board has no fused receiver, so it has no fixes: add one to 'devices', and to 'fusion' "
      + "if the board file has it; without 'every' the board's other devices give states"
  }
}
