import Devices
import Fusion
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import Publishing
import UBX

/// Fuses into one state what the readers send while they are awake; who wants it has them woken.
///
/// Measurements come out of order: IMU samples in bursts, fixes some time after they were valid. The filter takes each at
/// its own time.
final class Aggregator: Sendable {
  /// As exact as stamps are given to clients.
  private static let leastBetweenStates = Duration.microseconds(1)

  private let clock: any MonotonicTimeSource
  private let run: Activating<FusedState, Never>
  private let lastState: MutableProperty<FusedState?>
  private let fusionRun: MutableProperty<FusionRun>
  private let lastTime: LastTime
  private let fusing: Guarded<Fusing>
  private let receivers: ReceiverSelection
  /// From before the last sleep.
  private let lastKnown: Dated<FusedState.Position>?
  /// Of a replay: what tells which epochs are fused.
  private let replay: ReplayFeed?

  private static let wrongPressure =
    "its pressure cannot be that of the air here, and is not fused; an MS5607 read as an MS5611 shows half of it: check "
    + "the chip's marking"

  private init(
    board: Board, receivers: ReceiverSelection, clock: any MonotonicTimeSource, run: Activating<FusedState, Never>,
    lastState: MutableProperty<FusedState?>, fusionRun: MutableProperty<FusionRun>, lastTime: LastTime,
    replay: ReplayFeed?
  ) {
    self.replay = replay
    self.receivers = receivers
    self.lastState = lastState
    self.fusionRun = fusionRun
    self.lastTime = lastTime
    lastKnown = lastState.value?.position
    self.clock = clock
    self.run = run
    var estimator = StateEstimator(
      NavigationFilter.Configuration(board), devices: DeviceNames(board.devices.map(\.id)))
    estimator.magneticDeclination = lastKnown.map { Aggregator.declination(at: $0.value, nil) }
    fusing = Guarded(
      Fusing(
        estimator: estimator,
        imus: StandbyChoice(count: board.devices.count, silence: Aggregator.silence(of: board)),
        imu: board.devices.firstIndex { $0.id == board.imu?.id },
        at: lastState.value?.at ?? clock.now))
  }

  /// What is fused, and of what; ranks are places in the board's list.
  private struct Fusing {
    var estimator: StateEstimator
    var imus: StandbyChoice
    /// The one that the estimator has been told of.
    var imu: Int?
    /// By rank, why what a device measures is not fused; and what its owner was told of that.
    var findings: [Int: String] = [:]
    var told: [Int: String] = [:]
    /// As of when the last state was.
    var at: MonotonicInstant
    /// What comes before the run has begun, or after it has ended, is not fused.
    var isUnderWay = false
    /// By rank, from when the last epoch is that was fused.
    var known: [Int: MonotonicInstant] = [:]
  }

  /// Longer than any of the inertial sensors is silent between two bursts.
  private static func silence(of board: Board) -> Duration {
    let bursts = board.devices.compactMap { if case .imu(let imu) = $0 { imu.burstRateHz } else { nil } }
    return max(.milliseconds(300), .nanoseconds(Int64(3e9 / (bursts.min() ?? 10))))
  }

  /// The fused state as a lazy publisher; it wakes nothing.
  ///
  /// - Parameters:
  ///   - devices: whose measurements are fused
  ///   - receivers: which of them is taken
  ///   - lastState: is set to each state too
  ///   - fusionRun: is set when somebody comes, and when everybody has gone
  ///   - lastTime: from run to run
  ///   - replay: of a replay, tells which epochs are fused
  static func publisher(
    board: Board, fusing devices: [BoardDevice], receivers: ReceiverSelection, clock: any MonotonicTimeSource,
    lastState: MutableProperty<FusedState?>, fusionRun: MutableProperty<FusionRun>, lastTime: LastTime,
    replay: ReplayFeed?
  ) -> LazyPublisher<FusedState, Never> {
    LazyPublisher(
      deriving: "state", clock: clock,
      activating: { (run) throws(Never) in
        let aggregator = Aggregator(
          board: board, receivers: receivers, clock: clock, run: run, lastState: lastState,
          fusionRun: fusionRun, lastTime: lastTime, replay: replay)
        let lifetime = Lifetime()
        let ranked = devices.map { device in
          (device, rank: board.devices.firstIndex { $0.id == device.description.id } ?? 0)
        }
        for (device, rank) in ranked { aggregator.overhear(device, rank: rank).store(in: lifetime) }
        aggregator.begin(ranked)
        return Subscription {
          aggregator.fallAsleep(devices)
          lifetime.end()
        }
      })
  }

  /// From here on everything is fused that comes; each device is overheard already. A replay can tell what belongs to the run
  /// by this instant alone: whatever came earlier, and is not fused, was read before.
  private func begin(_ devices: [(BoardDevice, rank: Int)]) {
    let mustDeliver = fusing.withLock { fusing in
      // What a receiver that is awake said last comes first, and is not to be before what was sent.
      let latest = devices.compactMap { device, rank in
        if case .receiver(let receiver, let reader) = device, replay?.tellsEpochs != true {
          reader.device.readings.latest.map { (observation: $0, receiver, reader, rank) }
        } else {
          nil
        }
      }
      fusing.at = max(fusing.at, clock.now)
      fusing.isUnderWay = true
      let isRunStaged = fusionRun.stage(FusionRun(isUnderWay: true, since: fusing.at))
      var staged = (state: false, last: false)
      var epochs: [(reader: ReceiverReader, fused: FusedEpoch)] = []
      for (observation, receiver, reader, rank) in latest {
        take(
          observation, of: receiver, reader.doubt,
          declination: observation.position.map { Aggregator.declination(at: $0, observation.fix.time) },
          rank: rank, &fusing)
        fusing.known[rank] = observation.at
        fusing.at = fusing.at + Aggregator.leastBetweenStates
        epochs.append((reader, FusedEpoch(epochAt: observation.at, fusedAt: fusing.at)))
        let next = stageState(of: &fusing)
        staged = (staged.state || next.state, staged.last || next.last)
      }
      return (run: isRunStaged, state: staged.state, last: staged.last, epochs: epochs)
    }
    for (reader, fused) in mustDeliver.epochs { reader.fusedEpochs.forward()?(fused) }
    if mustDeliver.run { fusionRun.deliver() }
    if mustDeliver.last { lastState.deliver() }
    if mustDeliver.state { run.deliver() }
  }

  /// Takes what a device measures while it is awake for somebody.
  private func overhear(_ device: BoardDevice, rank: Int) -> Subscription {
    let source = DeviceSet(rank)
    switch device {
    case .receiver(let receiver, let reader):
      let epochs = reader.device.readings.overheard.subscribe(
        as: "state",
        receiveValue: { [self] observation in
          if replay?.tellsEpochs == true { return }
          receive(observation, of: receiver, reader, rank: rank)
        })
      guard let replay else { return epochs }
      let told = replay.epochs.subscribe(
        as: "state",
        receiveValue: { [self] epoch in
          if epoch.id == receiver.id { receive(epoch.observation, of: receiver, reader, rank: rank, isTold: true) }
        })
      return Subscription {
        epochs.cancel()
        told.cancel()
      }
    case .imu(let imu, let reader):
      let (calibration, mount) = (imu.calibration.values, imu.calibration.mount ?? imu.mount)
      let interval = 1 / imu.rateHz
      return reader.readings.overheard.subscribe(
        as: "state",
        receiveValue: { [self] in
          receive($0, calibration, mount, interval: interval, rank: rank, noting: reader.fusedInstant)
          remark(on: reader.monitor, rank: rank)
        })
    case .magnetometer(let magnetometer, let reader):
      let (calibration, mount) = (magnetometer.calibration.values, magnetometer.placement)
      return reader.readings.overheard.subscribe(
        as: "state",
        receiveValue: { [self] sample in
          let field = mount.apply(calibration.magnetometer(SIMD3<Double>(sample.field)))
          publish(at: sample.at, noting: reader.fusedInstant) {
            $0.estimator.update(magneticField: field, at: sample.at, from: source)
          }
        })
    case .barometer(_, let reader):
      return reader.readings.overheard.subscribe(
        as: "state",
        receiveValue: { [self] sample in
          let air = FusedState.Air(
            pressurePascals: sample.pressurePascals, temperatureCelsius: sample.temperatureCelsius,
            humidityPercent: sample.humidityPercent)
          publish(at: sample.at, noting: reader.fusedInstant) {
            $0.estimator.update(air: air, at: sample.at, from: source)
            $0.findings[rank] = $0.estimator.hasWrongPressure ? Aggregator.wrongPressure : nil
          }
          remark(on: reader.monitor, rank: rank)
        })
    case .supplyMonitor(let monitor, let reader):
      return reader.readings.overheard.subscribe(
        as: "state",
        receiveValue: { [self] sample in
          let supply = FusedState.Supply(volts: sample.volts, amperes: monitor.amperes(sample))
          publish(at: sample.at, noting: reader.fusedInstant) {
            $0.estimator.update(supply: supply, at: sample.at, from: source)
          }
        })
    }
  }

  /// The last state is no present one any more: what it says of now is taken back.
  private func fallAsleep(_ devices: [BoardDevice]) {
    let mustDeliver = fusing.withLock { fusing in
      fusing.at = max(clock.now, fusing.at + Aggregator.leastBetweenStates)
      fusing.isUnderWay = false
      for device in devices { device.fusedInstant.runEnded(at: fusing.at) }
      let state = self.state(of: &fusing, at: fusing.at)
      return (
        last: lastState.stage(state.asleep(since: state.at, lastKnown: lastKnown)),
        run: fusionRun.stage(FusionRun(isUnderWay: false, since: state.at))
      )
    }
    if mustDeliver.last { lastState.deliver() }
    if mustDeliver.run { fusionRun.deliver() }
  }

  /// As it is at an instant, with the time that a receiver last stated where its last epoch has none.
  private func state(of fusing: inout Fusing, at now: MonotonicInstant) -> FusedState {
    lastTime.complete(fusing.estimator.state(at: now))
  }

  private func receive(
    _ batch: IMUBatch, _ calibration: InertialCalibration, _ mount: MountMatrix, interval: Double, rank: Int,
    noting fusedInstant: FusedInstant
  ) {
    guard batch.count > 0 else { return }
    publish(at: batch.readAt, noting: fusedInstant) { fusing in
      guard fusing.imus.take(rank, at: batch[batch.count - 1].at) else { return }
      if fusing.imu != rank {
        fusing.imu = rank
        fusing.estimator.changeInertialSensor(interval: interval)
      }
      for index in 0..<batch.count {
        let sample = batch[index]
        fusing.estimator.update(
          gyroscope: mount.apply(calibration.gyroscope(SIMD3<Double>(sample.gyroscope))),
          accelerometer: mount.apply(calibration.accelerometer(SIMD3<Double>(sample.accelerometer))), at: sample.at,
          from: DeviceSet(rank))
      }
      fusing.findings[rank] = fusing.estimator.inertialFault?.description
    }
  }

  /// Tells the owner of a device why what it measures is not fused, when that has changed.
  private func remark(on monitor: DeviceMonitor, rank: Int) {
    let (text, isNew) = fusing.withLock { fusing in
      let text = fusing.findings[rank]
      let isNew = text != fusing.told[rank]
      fusing.told[rank] = text
      return (text, isNew)
    }
    if isNew { monitor.remark(on: .finding, text) }
  }

  /// - Parameter isTold: the epoch is fused now, whenever it was received
  private func receive(
    _ observation: GNSSObservation, of receiver: ReceiverDescription, _ reader: ReceiverReader, rank: Int,
    isTold: Bool = false
  ) {
    let declination = observation.position.map { Aggregator.declination(at: $0, observation.fix.time) }
    let fusedAt = publish(
      at: isTold ? clock.now : observation.receivedAt, noting: reader.device.fusedInstant,
      epoch: (rank, observation.at)
    ) { fusing in
      take(observation, of: receiver, reader.doubt, declination: declination, rank: rank, &fusing)
    }
    if let fusedAt { reader.fusedEpochs.forward()?(FusedEpoch(epochAt: observation.at, fusedAt: fusedAt)) }
  }

  private func take(
    _ observation: borrowing GNSSObservation, of receiver: ReceiverDescription, _ doubt: ReceiverDoubt,
    declination: Double?, rank: Int, _ fusing: inout Fusing
  ) {
    guard receivers.take(observation, of: rank) else { return }
    if let declination { fusing.estimator.magneticDeclination = declination }
    let position = observation.position
    fusing.estimator.update(
      fix: observation.quality, position: position, motion: observation.motion,
      at: MonotonicInstant(nanoseconds: observation.at.nanoseconds - receiver.fixLatency.inNanoseconds),
      leverArm: receiver.leverArmMetres, from: DeviceSet(rank))
    if position != nil { doubt.note(fusing.estimator.isRepetition, at: observation.at) }
  }

  /// How far east of true north the magnetic north lies, radians.
  private static func declination(at position: FusedState.Position, _ time: UTCTime?) -> Double {
    let place = Coordinate(latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees)
    let year = time.map { EarthModel.year(nanosecondsSince1970: $0.nanosecondsSince1970) }
    return EarthModel.magneticVariationDegrees(at: place, year: year) * .pi / 180
  }

  /// Changes the estimate and queues the state under the lock, so that states leave in the order in which they came about.
  ///
  /// - Parameters:
  ///   - instant: when what changes it was there. The state is as of then, and not as of when a thread gets round to it: what was
  ///     recorded gives the same states again.
  ///   - epoch: of a receiver: whose, and from when
  /// - Returns: as of when it was fused; `nil` where it was not
  @discardableResult
  private func publish(
    at instant: MonotonicInstant, noting fusedInstant: FusedInstant, epoch: (rank: Int, at: MonotonicInstant)? = nil,
    _ change: (inout Fusing) -> Void
  ) -> MonotonicInstant? {
    let published = fusing.withLock { fusing -> (at: MonotonicInstant, state: Bool, last: Bool)? in
      guard fusing.isUnderWay else { return nil }
      // An epoch may have been on its way when the run began with it, and whoever comes is given the last one again.
      if let epoch, let known = fusing.known[epoch.rank], epoch.at <= known { return nil }
      change(&fusing)
      if let epoch { fusing.known[epoch.rank] = epoch.at }
      // Several devices are read at the same time; no two states are of the same.
      fusing.at = max(instant, fusing.at + Aggregator.leastBetweenStates)
      fusedInstant.set(fusing.at, ofSampleReadAt: instant)
      let staged = stageState(of: &fusing)
      return (fusing.at, staged.state, staged.last)
    }
    guard let published else { return nil }
    if published.last { lastState.deliver() }
    if published.state { run.deliver() }
    return published.at
  }

  /// Returns what must be delivered.
  private func stageState(of fusing: inout Fusing) -> (state: Bool, last: Bool) {
    let state = self.state(of: &fusing, at: fusing.at)
    return (state: run.stage(state), last: lastState.stage(state))
  }
}

extension NavigationFilter.Configuration {
  /// For the sensors of a board.
  init(_ board: Board) {
    self.init()
    leverArm = board.receiver?.leverArmMetres ?? .zero
    isVehicle = board.isVehicle
    interval = board.imu.map { 1 / $0.rateHz } ?? interval
    magneticInterval = board.magnetometer.map { 1 / $0.rateHz }
    magneticStrength = board.magnetometer?.calibration.values.magnetometerStrength
    // At 9600 baud an epoch takes half a second to arrive, and its end is not always known at once.
    let fused = board.devices.filter { board.fusedDevices.contains($0.id) }
    let latencies = fused.compactMap {
      if case .receiver(let receiver) = $0 { receiver.fixLatency.inSeconds } else { nil }
    }
    latestFix = 1.5 + (latencies.max() ?? 0)
    let rates = fused.compactMap { if case .imu(let imu) = $0 { imu.rateHz } else { nil } }
    shortestInterval = rates.max().map { 1 / $0 }
    // The errors of a receiver that stands alone wander over some ten seconds.
    correlationTime = 10
  }
}

extension GNSSObservation {
  var quality: FusedState.FixQuality {
    var quality = FusedState.FixQuality(
      mode: Int(fix.mode.rawValue), status: Int(fix.status.rawValue), satellitesUsed: fix.satellitesUsed.map(Int.init),
      hdop: fix.hdop, utcNanoseconds: fix.time?.nanosecondsSince1970)
    quality.isTimeConfirmed = isTimeConfirmed
    quality.timeSigmaSeconds = fix.timeErrorSeconds
    quality.correctionAgeSeconds = fix.differentialAgeSeconds
    quality.reception = reception
    quality.receiverFusion = fix.receiverFusion.map { ReceiverFusion($0) }
    return quality
  }

  var reception: Reception {
    Reception(
      jamming: Reception.Jamming(fix.interference.jamming), spoofing: Reception.Spoofing(fix.interference.spoofing),
      jammingIndicator: fix.interference.jammingIndicator)
  }

  var position: FusedState.Position? {
    guard fix.mode >= .twoDimensional, let position = fix.position else { return nil }
    return FusedState.Position(
      latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees,
      altitudeHAEMetres: fix.altitudeHAEMetres, altitudeMSLMetres: fix.altitudeMSLMetres,
      horizontalSigmaMetres: horizontalSigma, verticalSigmaMetres: verticalSigma)
  }

  var motion: FusedState.Motion? {
    guard fix.mode >= .twoDimensional, let speed = fix.speedMetresPerSecond else { return nil }
    let reception = reception
    let stated = fix.speedErrorMetresPerSecond.flatMap { $0 > 0 ? $0 : nil }
    let horizontal = fix.velocitySigmas.map { (Double($0.x * $0.x + $0.y * $0.y) / 2).squareRoot() } ?? stated
    // Of a climb that follows from two heights the receiver says nothing.
    let vertical = fix.velocitySigmas.map { Double($0.z) } ?? (fix.velocity == nil ? nil : stated)
    return FusedState.Motion(
      speedMetresPerSecond: speed, trackDegrees: fix.trackDegrees, climbMetresPerSecond: fix.climbMetresPerSecond,
      horizontalSigmaMetresPerSecond: horizontal.map { reception.doubted(velocitySigma: $0) },
      verticalSigmaMetresPerSecond: vertical.map { reception.doubted(velocitySigma: $0) })
  }

  /// As far as it is to be believed; one that says nothing of it and is disturbed gets one all the same.
  private var horizontalSigma: Double? {
    let reception = reception
    let stated = statedHorizontalSigma
    if stated == nil, reception.doubted(positionSigma: 1) == 1 { return nil }
    return reception.doubted(positionSigma: stated ?? 2 * GNSSObservation.rangeSigmaMetres)
  }

  private var verticalSigma: Double? { statedVerticalSigma.map { reception.doubted(positionSigma: $0) } }

  /// The receiver's own, or the dilution of precision times what satellite ranges are usually off by.
  private var statedHorizontalSigma: Double? {
    if let sigmas = fix.positionSigmas { return (Double(sigmas.x * sigmas.x + sigmas.y * sigmas.y) / 2).squareRoot() }
    if let latitude = errorStatistics?.statistics.latitudeSigmaMetres,
      let longitude = errorStatistics?.statistics.longitudeSigmaMetres
    {
      return ((latitude * latitude + longitude * longitude) / 2).squareRoot()
    }
    return fix.horizontalErrorMetres ?? fix.hdop.map { $0 * GNSSObservation.rangeSigmaMetres }
  }

  private var statedVerticalSigma: Double? {
    fix.positionSigmas.map { Double($0.z) } ?? errorStatistics?.statistics.altitudeSigmaMetres ?? fix
      .verticalErrorMetres
      ?? fix.vdop.map { $0 * GNSSObservation.rangeSigmaMetres }
  }

  private static let rangeSigmaMetres = 5.0
}

extension ReceiverFusion {
  fileprivate init(_ mode: FusionMode) {
    switch mode {
    case .initializing: self = .initializing
    case .fusing: self = .fusing
    case .suspended: self = .suspended
    case .disabled: self = .disabled
    }
  }
}

extension Reception.Jamming {
  fileprivate init(_ report: JammingReport) {
    switch report {
    case .unknown: self = .unknown
    case .none: self = .none
    case .warning: self = .warning
    case .critical: self = .critical
    }
  }
}

extension Reception.Spoofing {
  fileprivate init(_ report: SpoofingReport) {
    switch report {
    case .unknown: self = .unknown
    case .none: self = .none
    case .indicated: self = .indicated
    case .multiple: self = .multiple
    }
  }
}
