import HardwareIO
import MonotonicTime

/// Reads a magnetometer through its kernel driver. If the kernel driver fills a buffer with scans, this driver reads
/// the scans. Otherwise it reads the axes one by one.
///
/// Pitfalls:
///
/// - For the HMC5843 and its relatives, some kernels state a unit that is a hundredth of the true one.
/// - If the axes are read one by one, most kernel drivers make three measurements. The three values are correct
///   together only while the chip does not turn.
final class IIOMagnetometerDriver: PolledDriver {
  static let quantity = "in_magn"
  private static let microteslaPerGauss: Float = 100
  private static let underrated: Set<String> = ["hmc5843", "hmc5883", "hmc5883l", "hmc5983"]
  /// The limit in gauss below which the kernel's scale of these chips is wrong. Corrected kernels state a larger scale.
  private static let underratedScale = 0.0001
  /// The maximum number of scans that one read takes.
  private static let longestBacklog = 1024

  private enum Source {
    case scans(IIOVectorStream)
    case values([IIOValue], IIOAxes)
  }

  private let name: IIODeviceName
  private let connection: ChipConnection
  private let configuration: PolledConfiguration
  private var source: Source?
  private var timer: IIOTimerTrigger?
  private var changes: IIOChanges?
  private var microteslaPerUnit = IIOMagnetometerDriver.microteslaPerGauss
  private var repetition = IIORepetition<SIMD3<Double>>()

  init(_ name: IIODeviceName, _ connection: ChipConnection, _ configuration: PolledConfiguration) {
    self.name = name
    self.connection = connection
    self.configuration = configuration
  }

  deinit { stop() }

  func start() throws(HardwareError) {
    stop()
    let system = IIOBus.system(of: connection.bus)
    let device = try IIODevice.find(name, in: system)
    guard device.measures("\(IIOMagnetometerDriver.quantity)_x") else {
      throw .unexpectedDevice("\(device) measures no magnetic field")
    }
    changes = IIOChanges(system.files)
    repetition = IIORepetition()
    do throws(HardwareError) {
      source = try open(device)
    } catch {
      stop()
      throw error
    }
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    guard let source else { return nil }
    switch source {
    case .scans(let stream):
      var latest: MagnetometerSample?
      try stream.read(atMost: IIOMagnetometerDriver.longestBacklog) { sample in
        latest = MagnetometerSample(goodAt: sample.at, field: sample.first * microteslaPerUnit) ?? latest
      }
      return latest
    case .values(let values, let axes): return try read(values, axes)
    }
  }

  func stop() {
    if case .scans(let stream) = source { stream.close() }
    source = nil
    // Close the timer after the stream, which uses it.
    timer?.close()
    timer = nil
    changes?.revert()
    changes = nil
  }

  private func open(_ device: IIODevice) throws(HardwareError) -> Source {
    let (quantity, requested) = (IIOMagnetometerDriver.quantity, configuration.rateHz)
    let chipHz = try setRate(device, requested)
    let scale = try device.number("scale", of: "\(quantity)_x") ?? 1
    let isUnderrated =
      IIOMagnetometerDriver.underrated.contains(device.name) && scale < IIOMagnetometerDriver.underratedScale
    microteslaPerUnit = IIOMagnetometerDriver.microteslaPerGauss * (isUnderrated ? 100 : 1)
    guard device.scans("\(quantity)_x") else {
      var values: [IIOValue] = []
      for axis in ["x", "y", "z"] {
        guard let value = try IIOValue(device, channel: "\(quantity)_\(axis)") else {
          throw .unsupported("\(device) has no \(quantity)_\(axis)")
        }
        values.append(value)
      }
      return .values(values, try IIOAxes(device, quantity))
    }
    let isTimed = device.needsTimer
    let timerHz = min(requested, chipHz ?? requested)
    if isTimed {
      timer = try IIOTimerTrigger(
        "sensorhub-\(device.number)", hertz: timerHz, in: device.system, pause: connection.pause)
    }
    return .scans(
      try IIOVectorStream(
        device, [quantity], rateHz: isTimed ? timerHz : chipHz ?? requested, lag: IIOBus.lag(chipHz, isTimed: isTimed),
        timer: timer))
  }

  private func setRate(_ device: IIODevice, _ requested: Double) throws(HardwareError) -> Double? {
    var changed = changes ?? IIOChanges(device.system.files)
    defer { changes = changed }
    return try device.setRate(of: "\(IIOMagnetometerDriver.quantity)_x", to: requested, &changed)
  }

  private func read(_ values: [IIOValue], _ axes: IIOAxes) throws(HardwareError) -> MagnetometerSample? {
    let before = connection.clock.now
    var (raw, gauss) = (SIMD3<Double>.zero, SIMD3<Double>.zero)
    for (axis, value) in values.enumerated() {
      raw[axis] = try value.raw()
      gauss[axis] = value.conversion.value(raw[axis])
    }
    // A hung bus returns all zeros or all ones.
    if raw == .zero || raw == SIMD3(repeating: -1) || !repetition.isFresh(raw) { return nil }
    let at = before + (connection.clock.now - before) / 2
    return MagnetometerSample(goodAt: at, field: SIMD3<Float>(axes.turn(gauss)) * microteslaPerUnit)
  }
}
