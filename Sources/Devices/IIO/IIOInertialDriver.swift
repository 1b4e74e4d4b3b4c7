import Glibc
import HardwareIO
import MonotonicTime

/// Reads an inertial sensor through its kernel driver, which presents the sensor as one device, or as two: one for the
/// gyroscope and one for the accelerometer. If the chip's interrupt line is not wired, one timer triggers both
/// devices.
final class IIOInertialDriver: InertialDriver {
  static let gyroscope = "in_anglvel"
  static let accelerometer = "in_accel"
  /// The number of bursts from one read of the temperature to the next. The temperature changes slowly.
  private static let temperatureInterval = 50

  var counters: InertialCounters {
    guard let run else { return counted }
    return counted + run.losses
  }

  private let names: [IIODeviceName]
  private let connection: ChipConnection
  private let configuration: InertialConfiguration
  /// The counts without the losses of the present run.
  private var counted = InertialCounters()
  private var run: Run?

  /// The objects that exist while the chip measures.
  private final class Run {
    let timer: IIOTimerTrigger?
    let gyroscope: IIOVectorStream
    /// The accelerometer's stream; `nil` if the gyroscope's scans have both.
    let accelerometer: IIOVectorStream?
    /// The reader of the temperature, if the scans do not contain it.
    let temperature: IIOValue?
    var changes: IIOChanges
    var pairing: IIOPairing
    var hasPaired = false
    var hasGap = false
    var burstsUntilTemperature = 0
    var temperatureCelsius: Float?

    init(
      timer: IIOTimerTrigger?, gyroscope: IIOVectorStream, accelerometer: IIOVectorStream?, temperature: IIOValue?,
      changes: IIOChanges, pairing: IIOPairing
    ) {
      self.timer = timer
      self.gyroscope = gyroscope
      self.accelerometer = accelerometer
      self.temperature = temperature
      self.changes = changes
      self.pairing = pairing
    }

    var losses: InertialCounters { gyroscope.losses + (accelerometer?.losses ?? InertialCounters()) }

    func close() {
      gyroscope.close()
      accelerometer?.close()
      // Close the timer after the streams, which use it.
      timer?.close()
      changes.revert()
    }
  }

  /// - Parameter names: one device with gyroscope and accelerometer, or one device for each
  init(_ names: [IIODeviceName], _ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.names = names
    self.connection = connection
    self.configuration = configuration
  }

  deinit { run?.close() }

  func start() throws(HardwareError) {
    stop()
    let system = IIOBus.system(of: connection.bus)
    var devices: [IIODevice] = []
    for name in names { devices.append(try IIODevice.find(name, in: system)) }
    let gyroscope = try device(IIOInertialDriver.gyroscope, title: "angular rates", among: devices)
    let accelerometer = try device(IIOInertialDriver.accelerometer, title: "acceleration", among: devices)
    var changes = IIOChanges(system.files)
    do throws(HardwareError) {
      run = try start(gyroscope, accelerometer, &changes)
    } catch {
      changes.revert()
      throw error
    }
  }

  func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    guard let run else { return }
    if let accelerometer = run.accelerometer {
      try readPairs(run, accelerometer, &batch)
    } else {
      try run.gyroscope.read(atMost: IMUBatch.capacity) { sample in
        if sample.followsGap { batch.followsGap = true }
        batch.append(IMUSample(at: sample.at, gyroscope: sample.first, accelerometer: sample.second))
      }
    }
    guard batch.count > 0 else { return }
    counted.samples += batch.count
    batch.temperatureCelsius = run.gyroscope.temperatureCelsius ?? temperature(run)
  }

  func stop() {
    guard let run else { return }
    counted = counters
    run.close()
    self.run = nil
  }

  private func device(
    _ quantity: String, title: String, among devices: [IIODevice]
  ) throws(HardwareError) -> IIODevice {
    guard let device = devices.first(where: { $0.measures("\(quantity)_x") }) else {
      throw .unexpectedDevice("none of \(names.map { "\($0)" }.joined(separator: " and ")) measures \(title)")
    }
    guard device.scans("\(quantity)_x") else {
      throw .unsupported(
        "the kernel driver of \(device) cannot fill a buffer: it needs the chip's interrupt line in the device tree")
    }
    return device
  }

  private func start(
    _ gyroscope: IIODevice, _ accelerometer: IIODevice, _ changes: inout IIOChanges
  ) throws(HardwareError) -> Run {
    let requested = configuration.rateHz
    let rates = Double(configuration.gyroscopeRange.rawValue) * .pi / 180
    let forces = Double(configuration.accelerometerRange.rawValue) * 9.80665
    try setRange(IIOInertialDriver.gyroscope, of: gyroscope, to: rates, &changes)
    try setRange(IIOInertialDriver.accelerometer, of: accelerometer, to: forces, &changes)
    let gyroscopeHz = try gyroscope.setRate(of: "\(IIOInertialDriver.gyroscope)_x", to: requested, &changes)
    let accelerometerHz = try accelerometer.setRate(of: "\(IIOInertialDriver.accelerometer)_x", to: requested, &changes)
    // A rate above the chip's rate would only repeat samples.
    let timerHz = min(requested, gyroscopeHz ?? requested, accelerometerHz ?? requested)
    var timer: IIOTimerTrigger?
    if gyroscope.needsTimer || accelerometer.needsTimer {
      timer = try IIOTimerTrigger(
        "sensorhub-\(gyroscope.number)", hertz: timerHz, in: gyroscope.system, pause: connection.pause)
    }
    func stream(
      _ device: IIODevice, _ quantities: [String], chipHz: Double?
    ) throws(HardwareError) -> IIOVectorStream {
      let isTimed = device.needsTimer
      return try IIOVectorStream(
        device, quantities, rateHz: isTimed ? timerHz : chipHz ?? requested, lag: IIOBus.lag(chipHz, isTimed: isTimed),
        timer: timer)
    }
    let isOne = gyroscope.number == accelerometer.number
    let both = [IIOInertialDriver.gyroscope, IIOInertialDriver.accelerometer]
    let first = try stream(gyroscope, isOne ? both : [both[0]], chipHz: gyroscopeHz)
    var second: IIOVectorStream?
    if !isOne { second = try stream(accelerometer, [both[1]], chipHz: accelerometerHz) }
    return Run(
      timer: timer, gyroscope: first, accelerometer: second,
      temperature: try IIOValue(gyroscope, channel: "in_temp"), changes: changes,
      pairing: IIOPairing(rateHz: accelerometer.needsTimer ? timerHz : accelerometerHz ?? requested))
  }

  /// - Parameter fullScale: the largest measurable value: rad/s for a gyroscope, m/s² for an accelerometer
  private func setRange(
    _ quantity: String, of device: IIODevice, to fullScale: Double, _ changes: inout IIOChanges
  ) throws(HardwareError) {
    guard let channel = try device.channel("\(quantity)_x") else { return }
    try device.setScale(of: channel.name, to: fullScale / exp2(Double(channel.type.bitCount - 1)), &changes)
  }

  private func readPairs(
    _ run: Run, _ accelerometer: IIOVectorStream, _ batch: inout IMUBatch
  ) throws(HardwareError) {
    try run.gyroscope.read(atMost: min(run.pairing.room, IMUBatch.capacity)) { sample in
      run.pairing.add(
        gyroscope: .init(at: sample.at.nanoseconds, vector: sample.first, followsGap: sample.followsGap))
    }
    try accelerometer.read(atMost: IMUBatch.capacity) { sample in
      run.pairing.add(accelerometer: .init(at: sample.at.nanoseconds, vector: sample.first))
    }
    while batch.count < IMUBatch.capacity, let outcome = run.pairing.next() {
      switch outcome {
      case .pair(let gyroscope, let force):
        if gyroscope.followsGap { run.hasGap = true }
        run.hasPaired = true
        batch.append(
          IMUSample(
            at: MonotonicInstant(nanoseconds: gyroscope.at), gyroscope: gyroscope.vector, accelerometer: force))
      case .alone:
        // The gyroscope starts before the accelerometer, so its first samples have no partner. This is not a gap.
        guard run.hasPaired else { continue }
        run.hasGap = true
        counted.misreads += 1
      }
    }
    guard batch.count > 0 else { return }
    batch.followsGap = run.hasGap
    run.hasGap = false
  }

  /// The temperature, which is read only at intervals. Some drivers do not provide the temperature while scans are on.
  private func temperature(_ run: Run) -> Float? {
    guard let temperature = run.temperature else { return nil }
    run.burstsUntilTemperature -= 1
    if run.burstsUntilTemperature < 0 {
      run.burstsUntilTemperature = IIOInertialDriver.temperatureInterval
      run.temperatureCelsius = (try? temperature.read()).map { Float($0 / 1000) }
    }
    return run.temperatureCelsius
  }
}

extension IIOBus {
  /// The kernel's files for sensors: those of the bus if it is an `IIOBus`, and otherwise those of this machine.
  static func system(of bus: any I2CBus) -> IIOSystem { (bus as? IIOBus)?.system ?? IIOSystem() }

  /// The average age of the chip's measurement at a scan: half a period if a timer triggers the scans, and otherwise
  /// zero.
  static func lag(_ chipHz: Double?, isTimed: Bool) -> Duration {
    guard isTimed, let chipHz else { return .zero }
    return .nanoseconds(Int64(0.5e9 / chipHz))
  }
}
