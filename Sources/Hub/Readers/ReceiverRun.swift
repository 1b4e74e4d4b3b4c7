import Devices
import MonotonicTime
import NMEA
import Publishing
import UBX

/// The state of a receiver while it has power, from its observations: whether it has a fix, whether its time is
/// confirmed, and which warnings apply.
struct ReceiverRun: Sendable {
  /// A receiver counts as tracking for this time after its last position.
  private static let fixLifetime = Duration.seconds(10)
  /// The warning of impossible values ends after this time without an impossible value.
  private static let refusalLifetime = Duration.seconds(60)

  private let machine: Machine
  private let allowsOldTimes: Bool
  private let monitor: DeviceMonitor
  private let isSimulated: Bool
  private var hasFix = false
  private var lastFixAt: MonotonicInstant
  private var confirmation: TimeConfirmation
  private var interference = Interference()
  private var receiverFusion: FusionMode?
  private var isFrozen = false
  /// The overflows of the week counter that the hub adds to the receiver's dates.
  private var addedEras: Int64 = 0
  /// The counts of all impossible values in this run.
  private var allRefused = RefusedValues()
  /// The quantities that the present warning names, and the time of the last impossible value.
  private var refused: (quantities: StatedQuantities, at: MonotonicInstant)?

  /// - Parameters:
  ///   - suppliedAt: the start of the receiver's supply, or of listening if the supply's start is unknown
  ///   - remembers: whether the supply was switched on at `suppliedAt`, and a battery had kept the receiver's memory
  ///     until then. A quick start then shows that the receiver knows the number of leap seconds. Without a battery, it
  ///     only shows that the hub restored the receiver's data, which lacks that number
  ///   - allowsOldTimes: whether the system's clock may be right although it shows a time years ago
  init(
    suppliedAt: MonotonicInstant, remembers: Bool, on machine: Machine, _ monitor: DeviceMonitor,
    allowsOldTimes: Bool = false
  ) {
    self.machine = machine
    self.allowsOldTimes = allowsOldTimes
    self.monitor = monitor
    lastFixAt = suppliedAt
    isSimulated = monitor.health.isSimulated
    confirmation = TimeConfirmation(switchedOnAt: remembers ? suppliedAt : nil)
    // Warnings of the previous run do not apply until this run confirms them.
    monitor.setWarning(about: .hangUp, nil)
    monitor.setWarning(about: .reception, nil)
    monitor.setWarning(about: .values, nil)
    monitor.setWarning(about: .finding, nil)
  }

  /// Processes an observation.
  ///
  /// - Returns: the observation with the known facts about its time
  mutating func take(_ observation: borrowing GNSSObservation) -> GNSSObservation {
    let isFix = observation.fix.mode >= .twoDimensional
    note(isFix: isFix)
    if !hasFix { monitor.health.heard(observation) }
    monitor.goesOn()
    note(observation.fix.interference, observation.fix.receiverFusion)
    if observation.isFrozen != isFrozen {
      isFrozen = observation.isFrozen
      monitor.setWarning(
        about: .hangUp, isFrozen ? "it repeats one position although the board moves: its fixes are not used" : nil)
    }
    var observation = copy observation
    // The receiver's protocol cannot mark a fix as simulated, but the hub's outputs can.
    if isSimulated, isFix, observation.fix.status == .unknown || observation.fix.status == .gnss {
      observation.fix.status = .simulated
    }
    let system = machine.systemTime()
    let eras = observation.carryWeeksForward(system: system, allowsOldTimes: allowsOldTimes)
    if isFix, observation.fix.time != nil, eras != addedEras {
      addedEras = eras
      let text = "its week counter has overflowed: the hub adds \(1024 * eras) weeks to its dates"
      monitor.setWarning(about: .finding, eras > 0 ? text : nil)
    }
    observation.isTimeConfirmed = confirmation.take(
      observation.fix.time, isFix: isFix, at: observation.at, system: system)
    if observation.isTimeConfirmed, let time = observation.fix.time {
      machine.hostTime.confirm(time, at: observation.at)
    }
    return observation
  }

  /// Checks the counts of the receiver's output. The counts come even if the bytes no longer form epochs.
  ///
  /// - Parameter counters: the counts of this run
  mutating func look(_ counters: ReceiverDecoder.Counters) {
    note(counters.refused)
    if !hasFix { monitor.health.read(counters) }
    if hasFix, machine.clock.now - lastFixAt > ReceiverRun.fixLifetime { note(isFix: false) }
  }

  /// Warns when the receiver states another kind of impossible value, and ends the warning after a time without any.
  private mutating func note(_ present: RefusedValues) {
    let now = machine.clock.now
    guard present != allRefused else {
      guard let refused, now - refused.at >= ReceiverRun.refusalLifetime else { return }
      self.refused = nil
      return monitor.setWarning(about: .values, nil)
    }
    let quantities = present.quantities(since: allRefused).union(refused?.quantities ?? [])
    allRefused = present
    let isNews = refused?.quantities != quantities
    refused = (quantities, now)
    guard isNews else { return }
    monitor.setWarning(about: .values, "it reports impossible values, which are left out: \(quantities.names)")
  }

  /// Warns of each change of the interference, and of the receiver's own fusion, once.
  private mutating func note(_ present: Interference, _ fusion: FusionMode?) {
    let isChanged =
      present.jamming != interference.jamming || present.spoofing != interference.spoofing || fusion != receiverFusion
    (interference, receiverFusion) = (present, fusion)
    guard isChanged else { return }
    let jamming: String? =
      switch present.jamming {
      case .unknown, .none: nil
      case .warning: "it reports jamming, and still has a fix"
      case .critical: "it reports jamming, and has no fix because of it"
      }
    let spoofing = present.isSpoofed ? "it reports spoofed signals" : nil
    monitor.alarm(.jamming, jamming)
    monitor.alarm(.spoofing, spoofing)
    var words = [jamming, spoofing].compactMap { $0 }
    switch fusion {
    case nil, .initializing, .fusing: break
    case .suspended: words.append("it does not use its own inertial sensors at present")
    case .disabled:
      words.append("it no longer uses its own inertial sensors: check that it is mounted firmly and as configured")
    }
    monitor.setWarning(about: .reception, words.isEmpty ? nil : words.joined(separator: ", "))
  }

  private mutating func note(isFix: Bool) {
    if isFix { lastFixAt = machine.clock.now }
    if isFix == hasFix { return }
    hasFix = isFix
    if isFix { monitor.tracking() } else { monitor.acquiring() }
  }
}

extension GNSSObservation {
  /// Corrects the times if the receiver's week number has rolled over.
  ///
  /// - Returns: the number of eras of 1024 weeks by which the times were late
  fileprivate mutating func carryWeeksForward(system: Int64, allowsOldTimes: Bool) -> Int64 {
    guard let time = fix.time,
      case let eras = WeekRollover.eras(behind: time, system: system, allowsOldTimes: allowsOldTimes),
      eras > 0
    else {
      return 0
    }
    fix.time = WeekRollover.carry(time, by: eras)
    if let time = errorStatistics?.time { errorStatistics?.time = WeekRollover.carry(time, by: eras) }
    return eras
  }
}

/// The counts of a receiver's output in all its runs.
final class ReceiverCounters: Sendable {
  private let counters = MutableProperty(ReceiverDecoder.Counters())

  /// The counts after each read.
  var changes: Property<ReceiverDecoder.Counters> { counters.readOnly }

  var present: ReceiverDecoder.Counters {
    get { counters.value }
    set { counters.value = newValue }
  }
}

extension ReceiverDecoder.Counters {
  var list: [DeviceStatus.Counter] {
    [
      .init("sentences", sentences), .init("messages", messages), .init("badChecksum", badChecksum),
      .init("truncated", truncated),
      .init("unknown", unknown), .init("epochs", epochs), .init("implausible", refused.count),
    ] + (busErrors > 0 ? [.init("busErrors", busErrors)] : [])
  }
}
