import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing
import Recording

/// The hub that is in service. A new board file replaces it; subscribers of this host's state stay subscribed and get
/// the new hub's.
public final class HubHost: Sendable {
  private enum Reload: Equatable { case board }

  /// How long devices have to end, less than the systemd unit allows a stop (`TimeoutStopSec`).
  public static let longestEnd = Duration.seconds(4)

  private let current: MutableProperty<Hub>
  /// The replayed recording; `nil` with devices.
  public let replay: ReplaySession?
  /// The store of calibrations; `nil` without devices.
  let calibrations: (any CalibrationStore)?
  /// Moves a simulated board as a calibration asks for; `nil` where nothing is simulated.
  let rehearsal: (any CalibrationRehearsal)?
  /// Who calibrates: only one at a time.
  let calibrator = Guarded<String?>(nil)
  /// What root can end.
  let placeHolders = PlaceHolders()
  /// Of the program: `0.2.0`.
  public let version: String
  /// The clients that are served.
  public let traffic = OutputTraffic()
  /// The counts of the recording.
  public let recording = RecordingCounters()
  /// On which side of its fences the board is.
  public let fences: Fences
  /// The standing requests of the board file.
  public let requests = StandingRequests()
  /// The problems of devices that do not work.
  public let conditions: ConditionFeed
  /// What happens to the fences, one event after the other.
  let fenceEvents = Subject<FenceStatus, Never>()
  /// The hub at its broker; `nil` where there is none.
  let fleetLink = Guarded<FleetLink?>(nil)
  private let reload = Trigger<Reload>()
  private let isOver = Guarded(false)
  private let text: Guarded<[UInt8]?>

  /// - Parameter boardText: of the board file, if there is one
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

  /// Of the board file that is in service, as it was read.
  var boardText: [UInt8]? { text.withLock { $0 } }

  /// By the clock that the hub's measurements are dated by.
  var now: MonotonicInstant { hub.value.machine.clock.now }

  /// The hub in service, and the ones after it.
  public var hub: Property<Hub> { current.readOnly }

  /// Keeps a device awake, and sends nothing; nothing for an unknown one.
  func wakefulness(of id: String) -> Deferred<Void, Never> {
    following { $0.wakefulness(of: id) ?? HubHost.nothing() }
  }

  private static func nothing<Output>() -> Deferred<Output, Never> {
    Deferred { _ in Empty(completesImmediately: false) }
  }

  /// Puts a hub of another board into service, at once. Devices that both boards have in the same way go on as they are; the others
  /// of the old one are powered off without lingering, as the new one may need what they use.
  ///
  /// - Parameter text: of the board file
  /// - Returns: once the old devices have stopped, or have had their time to: which of the old one's supplies could not be switched off, and what is wrong with the new one's and its pulse; `nil`
  ///   where all ends meanwhile, and the old one is the last
  public func serve(_ board: Board, text: [UInt8]? = nil) async -> [String]? {
    if isOver.withLock({ $0 }) { return nil }
    let old = current.value
    self.text.withLock { $0 = text }
    let new = replace(old, by: board)
    // Nobody but the caller waits for what has to stop.
    let stuck = await new.hasTakenOver(within: HubHost.longestEnd)
    if isOver.withLock({ $0 }) { return nil }
    let unended = stuck.map { "\($0): it has not stopped; a device that uses the same hardware starts once it has" }
    return unended + old.switchProblems + new.makeSafe(isStarting: true) + new.pulseProblems
  }

  private func replace(_ old: Hub, by board: Board) -> Hub {
    let new = Hub(board: board, on: old.machine, succeeding: old)
    new.takeOver(from: old) {
      current.value = new
      reload.activate(.board)
    }
    // Whoever has ended it meanwhile may have ended the old one alone.
    if isOver.withLock({ $0 }) { new.shutDown() }
    return new
  }

  /// Powers everything off permanently, for any subscribers; also in a hub that is about to replace this one.
  public func shutDown() {
    isOver.withLock { $0 = true }
    hub.value.shutDown()
  }

  /// The same of a hub on a recording, whose devices let go at once.
  public func serveReplay(on board: Board) {
    let old = current.value
    guard board != old.board else { return }
    _ = replace(old, by: board)
  }

  /// The fused state, at most at this rate. Subscribing powers the devices.
  ///
  /// - Parameters:
  ///   - rateHz: `nil` for the board's own rate
  ///   - parts: the requested parts
  public func state(rateHz: Double?, parts: Set<StatePart> = .all) -> Deferred<FusedState, Never> {
    following { $0.state(rateHz: rateHz ?? $0.board.stateRateHz, parts: parts) }
  }

  /// Fixes on a schedule. Subscribing wakes the receivers for each; a new board file does not change the times.
  public func fixes(on schedule: Schedule) -> Deferred<ScheduledFix, Never> {
    Deferred { [current] _ in current.value.fixes(on: schedule) }
  }

  /// Fixes as often as it takes to keep the position's sigma below a bound.
  func fixes(errorMetres: Double, within: Duration) -> Deferred<ScheduledFix, Never> {
    following { $0.fixes(errorMetres: errorMetres, within: within) }
  }

  /// Why there are none, and what to do about it, without quotes; `nil` on a board with a receiver.
  var lackOfFixes: String? {
    guard Set([StatePart.position]).kinds(on: hub.value.board).isEmpty else { return nil }
    return
      "this board has no receiver that is fused, and no fixes: its file lists one under 'devices', and under 'fusion' "
      + "where that names any; without 'every' there are the states of what it has"
  }

  /// Every fused state, as soon as there is one.
  public func states(parts: Set<StatePart>) -> Deferred<FusedState, Never> { following { $0.state(parts: parts) } }

  /// The fused state for its attitude; nothing on a board without an IMU.
  ///
  /// - Parameters:
  ///   - rateHz: `nil` for the board's own rate
  ///   - besideReceiver: on a board with a receiver too
  func attitudes(rateHz: Double?, besideReceiver: Bool) -> Deferred<FusedState, Never> {
    following { hub in
      hub.imu == nil || !hub.receivers.candidates.isEmpty && !besideReceiver
        ? HubHost.nothing()
        : hub.state(
          rateHz: rateHz ?? hub.board.stateRateHz,
          // Without a magnetometer a heading would wake the receiver.
          parts: hub.hasMagnetometer
            ? [.attitude, .rates, .acceleration, .heading, .magneticField] : [.attitude, .rates, .acceleration])
    }
  }

  /// What one receiver reports, whichever is taken.
  func epochs(of id: String) -> Deferred<GNSSObservation, Never> {
    following { hub in hub.epochs(of: id).map { $0 as any Publisher<GNSSObservation, Never> } ?? HubHost.nothing() }
  }

  /// The output of one receiver, whichever is taken.
  func sentences(of id: String) -> Deferred<ReceiverOutput, Never> {
    following { hub in hub.sentences(of: id).map { $0 as any Publisher<ReceiverOutput, Never> } ?? HubHost.nothing() }
  }

  /// The epochs of the receiver that is taken; nothing on a board without one.
  var epochs: Deferred<GNSSObservation, Never> { following { $0.epochs } }

  /// The same while it is awake for others.
  var overheardEpochs: Deferred<GNSSObservation, Never> { following { $0.overheardEpochs } }

  /// The fused state while devices are awake for others. Subscribing wakes nothing.
  var overheardStates: Deferred<FusedState, Never> { following { $0.lastState.compactMap { $0 } } }

  /// How far the system clock is from the receiver's time; nothing on a board without one.
  var clockOffsets: Deferred<ClockOffset, Never> { following { $0.clockOffsets } }

  /// The receiver's output, some whole sentences or messages at a time; nothing on a board without a receiver.
  var sentences: Deferred<ReceiverOutput, Never> { following { $0.sentences } }

  /// What `source` finds in the hub in service, and in the ones after it.
  private func following<Output>(
    _ source: @escaping @Sendable (Hub) -> any Publisher<Output, Never>
  ) -> Deferred<Output, Never> {
    Deferred { [current] _ in source(current.value) }.publishAndRepeat(onOutputFrom: reload.signal(for: .board))
  }
}
