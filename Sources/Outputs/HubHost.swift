import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing
import Recording

/// Holds the hub that is in service. When a new board file replaces the hub, subscribers of this host stay subscribed
/// and get the values of the new hub.
public final class HubHost: Sendable {
  private enum Reload: Equatable { case board }

  /// How long devices may take to stop. The systemd unit allows more (`TimeoutStopSec`).
  public static let longestEnd = Duration.seconds(4)

  private let current: MutableProperty<Hub>
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
  /// The counts of clients.
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
  /// The hub's connection to its broker; `nil` without a broker.
  let fleetLink = Guarded<FleetLink?>(nil)
  private let reload = Trigger<Reload>()
  private let isOver = Guarded(false)
  private let text: Guarded<[UInt8]?>

  /// - Parameter boardText: the text of the board file, if there is one
  public init(
    _ hub: Hub, version: String, boardText: [UInt8]? = nil, replay: ReplaySession? = nil,
    calibrations: (any CalibrationStore)? = nil, rehearsal: (any CalibrationRehearsal)? = nil
  ) {
    self.replay = replay
    self.calibrations = calibrations
    self.rehearsal = rehearsal
    current = MutableProperty(hub)
    fences = Fences(clock: hub.machine.clock)
    conditions = ConditionFeed(clock: hub.machine.clock)
    self.version = version
    text = Guarded(boardText)
  }

  /// The text of the board file in service.
  var boardText: [UInt8]? { text.withLock { $0 } }

  /// The present time of the clock that stamps the measurements.
  var now: MonotonicInstant { hub.value.machine.clock.now }

  /// The hub in service, now and after each change.
  public var hub: Property<Hub> { current.readOnly }

  /// Keeps a device awake without sending values. Does nothing for an unknown device.
  func powerLease(of id: String) -> Deferred<Void, Never> {
    following { $0.powerLease(of: id) ?? HubHost.nothing() }
  }

  private static func nothing<Output>() -> Deferred<Output, Never> {
    Deferred { _ in Empty(completesImmediately: false) }
  }

  /// Puts a hub for another board into service at once. Devices that both boards share continue. The old board's other
  /// devices are switched off without an idle timeout, because the new board may need their lines. Returns when the old
  /// devices have stopped, or after `longestEnd`.
  ///
  /// - Parameter text: the text of the board file
  /// - Returns: the supplies of the old board that could not be switched off, and the problems of the new board's
  ///   supplies and pulse; `nil` if the host shuts down in the meantime
  public func serve(_ board: Board, text: [UInt8]? = nil) async -> [String]? {
    if isOver.withLock({ $0 }) { return nil }
    let old = current.value
    self.text.withLock { $0 = text }
    let new = replace(old, by: board)
    // Only the caller waits for the old devices, not the subscribers.
    let stuck = await new.hasTakenOver(within: HubHost.longestEnd)
    if isOver.withLock({ $0 }) { return nil }
    let unended = stuck.map {
      "\($0): it has not stopped; a device that uses the same hardware starts as soon as it has stopped"
    }
    return unended + old.switchProblems + new.makeSafe(isStarting: true) + new.pulseProblems
  }

  private func replace(_ old: Hub, by board: Board) -> Hub {
    let new = Hub(board: board, on: old.machine, succeeding: old)
    new.takeOver(from: old) {
      current.value = new
      reload.activate(.board)
    }
    // If the host was shut down in the meantime, the shutdown may have ended only the old hub.
    if isOver.withLock({ $0 }) { new.shutDown() }
    return new
  }

  /// Switches all devices off permanently, even if they have subscribers. This includes the devices of a hub that is
  /// about to replace this one.
  public func shutDown() {
    isOver.withLock { $0 = true }
    hub.value.shutDown()
  }

  /// Puts a hub that plays a recording into service. The previous hub's devices stop at once. Does nothing if the board
  /// is the same.
  public func serveReplay(on board: Board) {
    let old = current.value
    guard board != old.board else { return }
    _ = replace(old, by: board)
  }

  /// The fused state, at most at this rate. A subscription powers the devices.
  ///
  /// - Parameters:
  ///   - rateHz: the rate; `nil` for the board's own rate
  ///   - parts: the requested parts
  public func state(rateHz: Double?, parts: Set<StatePart> = .all) -> Deferred<FusedState, Never> {
    following { $0.state(rateHz: rateHz ?? $0.board.stateRateHz, parts: parts) }
  }

  /// Scheduled fixes. A subscription wakes the receivers for each fix. If the board file changes, the times stay the
  /// same.
  public func fixes(on schedule: Schedule) -> Deferred<RequestedFix, Never> {
    Deferred { [current] _ in current.value.fixes(on: schedule) }
  }

  /// Positions that stay within a bound of the truth (95 %), with as many fixes as that needs.
  func fixes(errorMetres: Double, within: Duration) -> Deferred<RequestedFix, Never> {
    following { $0.fixes(errorMetres: errorMetres, within: within) }
  }

  /// The reason why the board has no fixes, and the next step; `nil` on a board with a fused receiver.
  var lackOfFixes: String? {
    guard Set([StatePart.position]).kinds(on: hub.value.board).isEmpty else { return nil }
    return
      "this board has no fused receiver, so it has no fixes: add one to 'devices', and to 'fusion' "
      + "if the board file has it; without 'every' the board's other devices give states"
  }

  /// All fused states, each as soon as it is computed.
  public func states(parts: Set<StatePart>) -> Deferred<FusedState, Never> { following { $0.state(parts: parts) } }

  /// The fused state for clients that need its attitude; no values on a board without an IMU.
  ///
  /// - Parameters:
  ///   - rateHz: the rate; `nil` for the board's own
  ///   - besideReceiver: whether a board with a receiver also gives values
  func attitudes(rateHz: Double?, besideReceiver: Bool) -> Deferred<FusedState, Never> {
    following { hub in
      hub.imu == nil || !hub.receivers.candidates.isEmpty && !besideReceiver
        ? HubHost.nothing()
        : hub.state(
          rateHz: rateHz ?? hub.board.stateRateHz,
          // Without a magnetometer, a request for a heading would wake the receiver.
          parts: hub.hasMagnetometer
            ? [.attitude, .rates, .acceleration, .heading, .magneticField] : [.attitude, .rates, .acceleration])
    }
  }

  /// The epochs of one receiver, whether or not it is fused.
  func epochs(of id: String) -> Deferred<GNSSObservation, Never> {
    following { hub in hub.epochs(of: id).map { $0 as any Publisher<GNSSObservation, Never> } ?? HubHost.nothing() }
  }

  /// The output of one receiver, whether or not it is fused.
  func sentences(of id: String) -> Deferred<ReceiverOutput, Never> {
    following { hub in hub.sentences(of: id).map { $0 as any Publisher<ReceiverOutput, Never> } ?? HubHost.nothing() }
  }

  /// The epochs of the selected receiver; no values on a board without a receiver.
  var epochs: Deferred<GNSSObservation, Never> { following { $0.epochs } }

  /// The epochs of the selected receiver while other clients keep it awake.
  var observedEpochs: Deferred<GNSSObservation, Never> { following { $0.observedEpochs } }

  /// The fused state while other clients keep devices awake. A subscription wakes no device.
  var observedStates: Deferred<FusedState, Never> { following { $0.lastState.compactMap { $0 } } }

  /// The difference between the system clock and the receiver's time; no values on a board without a receiver.
  var clockOffsets: Deferred<ClockOffset, Never> { following { $0.clockOffsets } }

  /// The output of the selected receiver, in complete sentences or messages; no values on a board without a receiver.
  var sentences: Deferred<ReceiverOutput, Never> { following { $0.sentences } }

  /// A publisher that follows the hub in service: `source` finds its publisher in this hub, and in each hub that
  /// replaces it.
  private func following<Output>(
    _ source: @escaping @Sendable (Hub) -> any Publisher<Output, Never>
  ) -> Deferred<Output, Never> {
    Deferred { [current] _ in source(current.value) }.publishAndRepeat(onOutputFrom: reload.signal(for: .board))
  }
}
