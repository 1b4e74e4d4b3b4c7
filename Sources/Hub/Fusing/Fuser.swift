import Devices
import Fusion
import MonotonicTime
import NMEA

/// Fuses a log of inputs. The same inputs at the same instants give the same states, byte for byte.
///
///     var fuser = Fuser(board)
///     _ = fuser.apply(.begin(FusionKnowledge()), at: start)
///     let state = fuser.apply(.air(2, sample), at: sample.at)
///
/// It uses no clock, no thread and no device. `FusionLog` gives it live measurements; a replay gives it recorded ones.
public struct Fuser: Sendable {
  /// The facts about a device, from the board file, that the fusion needs.
  private enum Device: Equatable, Sendable {
    /// The delay of a fix; the antenna's position relative to the IMU (metres forward, right and down); the degrees to
    /// add to the heading that a receiver with two antennas states.
    case receiver(latency: Duration, leverArm: SIMD3<Double>, headingOffset: Double)
    case imu(InertialCalibration, MountMatrix, interval: Double)
    case magnetometer(InertialCalibration, MountMatrix)
    case barometer
    case supplyMonitor(shuntOhms: Double)
  }

  private static let wrongPressure =
    "its pressure is impossible for air, and is not fused; an MS5607 that is read as an MS5611 shows half the pressure: check "
    + "the chip's marking"
  private static let wrongHeading =
    "its headings contradict its fixes, and are not fused until the next run: check 'headingOffsetDegrees' and the "
    + "receiver's two antennas"

  private let configuration: NavigationFilter.Configuration
  let names: DeviceNames
  /// The devices, by place in the board's list; `nil` for a device that is not fused.
  private let devices: [Device?]
  private let preferredIMU: Int?
  /// The silence after which another inertial sensor is used. It is longer than the time between two bursts of any
  /// sensor.
  private let silence: Duration

  private var estimator: StateEstimator
  private var imus: StandbyChoice
  /// The place of the inertial sensor that the estimator uses.
  private var imu: Int?
  /// The last fused epoch of each receiver in this run, by place.
  private var epochs: [MonotonicInstant?]
  /// The reasons why devices, or the headings of receivers, are not fused, by place.
  private var findings: [String?]
  public private(set) var isUnderWay = false
  /// The last position and the last stated time, of this run or from before it.
  private var knowledge = FusionKnowledge()

  /// Whether another fuser has the same settings and devices, so that it can fuse the inputs of this one's board.
  func isSetUp(like other: Fuser) -> Bool {
    configuration == other.configuration && names.ids == other.names.ids && devices == other.devices
      && preferredIMU == other.preferredIMU && silence == other.silence
  }

  public init(_ board: Board) {
    configuration = NavigationFilter.Configuration(board)
    names = DeviceNames(board.devices.map(\.id))
    devices = board.devices.map { board.fusedDevices.contains($0.id) ? Fuser.device($0) : nil }
    preferredIMU = board.devices.firstIndex { $0.id == board.imu?.id }
    let bursts = board.devices.compactMap { if case .imu(let imu) = $0 { imu.burstRateHz } else { nil } }
    silence = max(.milliseconds(300), .nanoseconds(Int64(3e9 / (bursts.min() ?? 10))))
    estimator = StateEstimator(configuration, devices: names)
    imus = StandbyChoice(count: board.devices.count, silence: silence)
    epochs = Array(repeating: nil, count: board.devices.count)
    findings = Array(repeating: nil, count: board.devices.count)
  }

  private static func device(_ description: DeviceDescription) -> Device {
    switch description {
    case .receiver(let receiver):
      .receiver(
        latency: receiver.fixLatency, leverArm: receiver.leverArmMetres,
        headingOffset: receiver.headingOffsetDegrees)
    case .imu(let imu):
      .imu(imu.calibration.values, imu.calibration.mount ?? imu.mount, interval: 1 / imu.rateHz)
    case .magnetometer(let magnetometer): .magnetometer(magnetometer.calibration.values, magnetometer.placement)
    case .barometer: .barometer
    case .supplyMonitor(let monitor): .supplyMonitor(shuntOhms: monitor.placement.shuntOhms)
    }
  }

  /// Whether a device's measurements may be fused.
  func fuses(_ place: Int) -> Bool { devices[place] != nil }

  /// The UTC time that a receiver stated most recently, and the instant at which it was stated.
  public var statedTime: FusionKnowledge.StatedTime? { knowledge.time }

  /// Why a device's measurements are not fused, in words; `nil` if they are fused. A receiver's finding concerns only
  /// the headings that it states.
  public func finding(of device: Int) -> String? { findings[device] }

  /// Whether the last position of a receiver repeated the previous one bit for bit while the inertial sensors moved.
  public var isRepetition: Bool { estimator.isRepetition }

  /// Processes the next input. Inputs outside of a run change nothing.
  ///
  /// - Parameter instant: later than that of the previous input
  /// - Returns: the state at that instant; `nil` if the input causes none. The end of a run returns a state in the mode
  ///   `asleep`, which has only the last known position.
  public mutating func apply(_ input: FusionInput, at instant: MonotonicInstant) -> FusedState? {
    switch input {
    case .begin(let knowledge):
      begin(knowledge)
      return nil
    case .end:
      guard isUnderWay else { return nil }
      isUnderWay = false
      return state(at: instant).asleep(since: instant, lastKnown: knowledge.position)
    case .expiry: return isUnderWay ? state(at: instant) : nil
    case .epoch(let place, let epoch): return take(epoch, of: place) ? state(at: instant) : nil
    case .imu(let place, let batch): return take(batch, of: place) ? state(at: instant) : nil
    case .field(let place, let sample): return take(sample, of: place) ? state(at: instant) : nil
    case .air(let place, let sample): return take(sample, of: place) ? state(at: instant) : nil
    case .supply(let place, let sample): return take(sample, of: place) ? state(at: instant) : nil
    }
  }

  /// The last instant at which the position or the attitude is valid if no further input comes; `nil` without either,
  /// and outside a run.
  var validUntil: MonotonicInstant? { isUnderWay ? estimator.validUntil : nil }

  /// The mode of the state at an instant, if no further input comes. Mutating, although it changes nothing, like that of
  /// the estimator.
  mutating func mode(at instant: MonotonicInstant) -> FusedState.Mode { estimator.mode(at: instant) }

  private mutating func begin(_ knowledge: FusionKnowledge) {
    self.knowledge = knowledge
    isUnderWay = true
    estimator = StateEstimator(configuration, devices: names)
    estimator.magneticDeclination = knowledge.position.map { Fuser.declination(at: $0.value, nil) }
    imus = StandbyChoice(count: devices.count, silence: silence)
    imu = preferredIMU
    for place in devices.indices {
      epochs[place] = nil
      findings[place] = nil
    }
  }

  private func device(_ place: Int) -> Device? { isUnderWay && devices.indices.contains(place) ? devices[place] : nil }

  private mutating func take(_ epoch: ReceiverEpoch, of place: Int) -> Bool {
    guard case .receiver(let latency, let leverArm, let headingOffset)? = device(place) else { return false }
    // `Aggregator` takes the latest epoch of each receiver at the beginning of a run, and may receive it once more.
    if let last = epochs[place], epoch.at <= last { return false }
    epochs[place] = epoch.at
    if let position = epoch.position {
      estimator.magneticDeclination = Fuser.declination(at: position, epoch.quality.utcNanoseconds)
    }
    var heading = epoch.heading
    heading?.degrees += headingOffset
    estimator.update(
      fix: epoch.quality, position: epoch.position, motion: epoch.motion,
      at: epoch.at.advanced(by: .zero - latency), leverArm: leverArm, heading: heading, from: DeviceSet(place))
    if heading != nil, estimator.hasWrongHeading { findings[place] = Fuser.wrongHeading }
    return true
  }

  private mutating func take(_ batch: IMUBatch, of place: Int) -> Bool {
    guard case .imu(let calibration, let mount, let interval)? = device(place), batch.count > 0 else { return false }
    // A standby IMU is not fused, but its samples still cause a state at the new instant.
    guard imus.take(place, at: batch[batch.count - 1].at) else { return true }
    if imu != place {
      imu = place
      estimator.changeInertialSensor(interval: interval)
    }
    for index in 0..<batch.count {
      let sample = batch[index]
      estimator.update(
        gyroscope: mount.apply(calibration.gyroscope(SIMD3<Double>(sample.gyroscope))),
        accelerometer: mount.apply(calibration.accelerometer(SIMD3<Double>(sample.accelerometer))), at: sample.at,
        from: DeviceSet(place))
    }
    let fault = estimator.inertialFault
    imus.note(isImplausible: fault != nil, place)
    findings[place] = fault?.description
    return true
  }

  private mutating func take(_ sample: MagnetometerSample, of place: Int) -> Bool {
    guard case .magnetometer(let calibration, let mount)? = device(place) else { return false }
    estimator.update(
      magneticField: mount.apply(calibration.magnetometer(SIMD3<Double>(sample.field))), at: sample.at,
      from: DeviceSet(place))
    return true
  }

  private mutating func take(_ sample: BarometerSample, of place: Int) -> Bool {
    guard case .barometer? = device(place) else { return false }
    let air = FusedState.Air(
      pressurePascals: sample.pressurePascals, temperatureCelsius: sample.temperatureCelsius,
      humidityPercent: sample.humidityPercent)
    estimator.update(air: air, at: sample.at, from: DeviceSet(place))
    findings[place] = estimator.hasWrongPressure ? Fuser.wrongPressure : nil
    return true
  }

  private mutating func take(_ sample: SupplySample, of place: Int) -> Bool {
    guard case .supplyMonitor(let shuntOhms)? = device(place) else { return false }
    let supply = FusedState.Supply(volts: sample.volts, amperes: sample.amperes(throughOhms: shuntOhms))
    estimator.update(supply: supply, at: sample.at, from: DeviceSet(place))
    return true
  }

  /// The state at an instant. If the state's last epoch has no time, its time is computed from the last time that a
  /// receiver stated.
  private mutating func state(at instant: MonotonicInstant) -> FusedState {
    var state = estimator.state(at: instant)
    if let position = state.position { knowledge.position = position }
    guard let fix = state.fix else { return state }
    if let utc = fix.value.utcNanoseconds {
      if knowledge.time.map({ $0.at < fix.at }) ?? true {
        knowledge.time = FusionKnowledge.StatedTime(utcNanoseconds: utc, at: fix.at)
      }
    } else if let time = knowledge.time {
      // A damaged recording may state any time, so the sum must not trap.
      state.fix?.value.utcNanoseconds = time.utcNanoseconds &+ (fix.at.nanoseconds &- time.at.nanoseconds)
    }
    return state
  }

  /// The magnetic declination at a position, positive to the east, radians.
  private static func declination(at position: FusedState.Position, _ utcNanoseconds: Int64?) -> Double {
    let place = Coordinate(latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees)
    let year = utcNanoseconds.map { EarthModel.year(nanosecondsSince1970: $0) }
    return EarthModel.magneticVariationDegrees(at: place, year: year) * .pi / 180
  }
}

extension NavigationFilter.Configuration {
  /// The configuration for the sensors of a board.
  init(_ board: Board) {
    self.init()
    leverArm = board.receiver?.leverArmMetres ?? .zero
    isVehicle = board.isVehicle
    interval = board.imu.map { 1 / $0.rateHz } ?? interval
    magneticInterval = board.magnetometer.map { 1 / $0.rateHz }
    magneticStrength = board.magnetometer?.calibration.values.magnetometerStrength
    // At 9600 baud an epoch takes half a second to arrive, and its end is not always recognised at once.
    let fused = board.devices.filter { board.fusedDevices.contains($0.id) }
    let latencies = fused.compactMap {
      if case .receiver(let receiver) = $0 { receiver.fixLatency.inSeconds } else { nil }
    }
    latestFix = 1.5 + (latencies.max() ?? 0)
    let rates = fused.compactMap { if case .imu(let imu) = $0 { imu.rateHz } else { nil } }
    shortestInterval = rates.max().map { 1 / $0 }
    // The errors of a receiver without corrections drift over about ten seconds.
    correlationTime = 10
  }
}
