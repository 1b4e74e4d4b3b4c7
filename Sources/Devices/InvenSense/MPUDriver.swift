import HardwareIO
import MonotonicTime

/// Driver of the MPU-6050, MPU-6500 and MPU-9250: identifies, wakes and configures the chip and empties its FIFO in
/// bursts, so that a thousand samples a second do not take a thousand wake-ups.
public final class MPUDriver {
  /// What happened besides samples.
  public struct Counters: Equatable, Sendable {
    public var samples = 0
    /// Times the FIFO ran over, each losing what it held.
    public var overflows = 0

    public init() {}

    public static func + (a: Counters, b: Counters) -> Counters {
      var sum = a
      sum.samples += b.samples
      sum.overflows += b.overflows
      return sum
    }
  }

  /// Accelerometer and gyroscope, three axes of two bytes each.
  private static let frameLength = 12
  /// The kernel keeps so many edges; some kernel interfaces drop the newest when there are more.
  private static let edgeQueueLength = 16

  public let configuration: MPUConfiguration
  public private(set) var model: MPUModel?
  public private(set) var counters = Counters()

  private let registers: I2CRegisters
  private let dataReady: (any GPIOEdgeInput)?
  private let clock: any MonotonicTimeSource
  private let pause: (Duration) -> Void
  private var sampleClock: SampleClock
  private var burstsUntilTemperature = 0
  private var temperatureCelsius: Float?

  /// - Parameters:
  ///   - address: 0x68, or 0x69 with the AD0 pin high
  ///   - dataReady: the chip's INT pin, which rises when a sample is ready, where it is wired
  ///   - pause: waits on the calling thread, for the chip to wake
  public init(
    bus: any I2CBus, address: UInt8, configuration: MPUConfiguration, dataReady: (any GPIOEdgeInput)? = nil,
    clock: any MonotonicTimeSource = MonotonicClock(), pause: @escaping (Duration) -> Void
  ) {
    self.dataReady = dataReady
    registers = I2CRegisters(bus, address: address, capacity: 1024)
    self.configuration = configuration
    self.clock = clock
    self.pause = pause
    sampleClock = SampleClock(rateHz: configuration.actualRateHz)
  }

  /// Wakes the chip and starts sampling into the FIFO.
  public func start() throws(HardwareError) -> MPUModel {
    let model = try identify()
    self.model = model
    // 4.28: a reset takes up to 100 ms; afterwards the chip sleeps.
    try registers.write(MPURegister.deviceReset, to: MPURegister.powerManagement1)
    pause(.milliseconds(100))
    try registers.write(MPURegister.clockFromGyroscope, to: MPURegister.powerManagement1)
    // Product specification 6.1: the gyroscope takes 30 ms to start.
    pause(.milliseconds(35))
    try registers.write(configuration.filter, to: MPURegister.configuration)
    try registers.write(configuration.divider, to: MPURegister.sampleRateDivider)
    try registers.write(configuration.gyroscopeRange.bits, to: MPURegister.gyroscopeConfiguration)
    try registers.write(configuration.accelerometerRange.bits, to: MPURegister.accelerometerConfiguration)
    if model.hasSeparateAccelerometerFilter {
      try registers.write(configuration.filter, to: MPURegister.accelerometerConfiguration2)
    }
    try registers.write(MPURegister.clearOnAnyRead, to: MPURegister.interruptPin)
    try registers.write(MPURegister.dataReady, to: MPURegister.interruptEnable)
    try registers.write(MPURegister.gyroscopeAndAccelerometer, to: MPURegister.fifoEnable)
    try restartFIFO()
    return model
  }

  /// Takes all samples that wait in the FIFO.
  ///
  /// Where the data-ready line is wired this is best called right after an edge: the newest sample is then known to be that
  /// edge's. An edge that comes while the FIFO is being looked at leaves open whose it is; the sample clock tells then.
  ///
  /// - Parameter batch: emptied, then filled
  public func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    guard let model else { return }
    let edgesBefore = try dataReady?.takeEdges()
    let status = try registers.read(MPURegister.interruptStatus)
    let countBytes = try registers.read(MPURegister.fifoCount, count: 2)
    let waiting = Int(countBytes[0]) << 8 | Int(countBytes[1])
    let readAt = clock.now
    let edgesMeanwhile = try dataReady?.takeEdges()
    // After an overflow the oldest bytes are overwritten and frames are no longer aligned: all of it is lost.
    if status & MPURegister.fifoOverflow != 0 || waiting >= model.fifoSize {
      counters.overflows += 1
      sampleClock.reset()
      try restartFIFO()
      batch.followsGap = true
      return
    }
    let count = min(waiting / MPUDriver.frameLength, IMUBatch.capacity)
    guard count > 0 else { return }
    let bytes = try registers.readPort(
      MPURegister.fifo, count: count * MPUDriver.frameLength, unit: MPUDriver.frameLength)
    if let edgesBefore, edgesMeanwhile == nil, edgesBefore.count < MPUDriver.edgeQueueLength {
      decode(bytes, count, sampleClock.stamp(count, edge: edgesBefore.latest.at), &batch)
    } else {
      decode(bytes, count, sampleClock.stamp(count, readAt: readAt), &batch)
    }
    counters.samples += count
    try readTemperature(model)
    batch.temperatureCelsius = temperatureCelsius
  }

  /// Puts the chip to sleep, whatever state it is in; an error only means that it is gone already.
  public func stop() { try? registers.write(MPURegister.sleep, to: MPURegister.powerManagement1) }

  private func identify() throws(HardwareError) -> MPUModel {
    let id = try registers.read(MPURegister.whoAmI)
    guard let model = MPUModel(rawValue: id) else {
      throw .unexpectedDevice(
        "the chip at 0x\(String(registers.address, radix: 16)) on \(registers.bus.name) identifies itself as "
          + "0x\(String(id, radix: 16)), which is none of the MPU family (0x68, 0x70, 0x71, 0x73)")
    }
    return model
  }

  private func restartFIFO() throws(HardwareError) {
    // 4.27: the reset bit works only while the FIFO is off.
    try registers.write(0, to: MPURegister.userControl)
    try registers.write(MPURegister.fifoReset, to: MPURegister.userControl)
    try registers.write(MPURegister.fifoOn, to: MPURegister.userControl)
  }

  private func decode(
    _ bytes: UnsafeRawBufferPointer, _ count: Int, _ time: (first: Int64, period: Double), _ batch: inout IMUBatch
  ) {
    let accelerometerScale = configuration.accelerometerRange.metresPerSecondSquaredPerUnit
    let gyroscopeScale = configuration.gyroscopeRange.radiansPerSecondPerUnit
    for index in 0..<count {
      let offset = index * MPUDriver.frameLength
      func axis(_ position: Int) -> Float {
        let high = UInt16(bytes[offset + 2 * position])
        return Float(Int16(bitPattern: high << 8 | UInt16(bytes[offset + 2 * position + 1])))
      }
      let at = time.first + Int64(time.period * Double(index))
      batch.append(
        IMUSample(
          at: MonotonicInstant(nanoseconds: at),
          gyroscope: SIMD3(axis(3), axis(4), axis(5)) * gyroscopeScale,
          accelerometer: SIMD3(axis(0), axis(1), axis(2)) * accelerometerScale))
    }
  }

  /// The temperature changes slowly: once in some fifty bursts will do.
  private func readTemperature(_ model: MPUModel) throws(HardwareError) {
    burstsUntilTemperature -= 1
    guard burstsUntilTemperature < 0 else { return }
    burstsUntilTemperature = 50
    let bytes = try registers.read(MPURegister.temperature, count: 2)
    temperatureCelsius = model.temperature(raw: Int16(bitPattern: UInt16(bytes[0]) << 8 | UInt16(bytes[1])))
  }
}
