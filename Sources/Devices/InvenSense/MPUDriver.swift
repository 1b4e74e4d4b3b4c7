import HardwareIO
import MonotonicTime

/// Driver of the MPU-6050, MPU-6500 and MPU-9250.
public final class MPUDriver: InertialDriver {
  /// Accelerometer and gyroscope, three axes of two bytes each.
  private static let frameLength = 12
  /// The kernel keeps so many edges; some kernel interfaces drop the newest when there are more.
  private static let edgeQueueLength = 16

  public private(set) var model: MPUModel?
  public private(set) var counters = InertialCounters()

  private let registers: I2CRegisters
  private let connection: InertialChip.Connection
  private let settings: MPUSettings
  private var sampleClock: SampleClock
  /// Samples were lost since the last batch that had any.
  private var hasGap = false
  /// The bytes beside whole frames that waited at the last read.
  private var lastRemainder = 0
  private var burstsUntilTemperature = 0
  private var temperatureCelsius: Float?

  /// - Parameter connection: at 0x68, or at 0x69 with the AD0 pin high
  public init(_ connection: InertialChip.Connection, _ configuration: InertialConfiguration) {
    self.connection = connection
    settings = MPUSettings(configuration)
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 1024)
    sampleClock = SampleClock(rateHz: settings.rateHz)
  }

  public func start() throws(HardwareError) {
    let model = try identify()
    self.model = model
    // 4.28: a reset takes up to 100 ms; afterwards the chip sleeps.
    try registers.write(MPURegister.deviceReset, to: MPURegister.powerManagement1)
    connection.pause(.milliseconds(100))
    try registers.write(MPURegister.clockFromGyroscope, to: MPURegister.powerManagement1)
    // Product specification 6.1: the gyroscope takes 30 ms to start.
    connection.pause(.milliseconds(35))
    try registers.write(settings.filter, to: MPURegister.configuration)
    try registers.write(settings.divider, to: MPURegister.sampleRateDivider)
    try registers.write(settings.gyroscopeRange, to: MPURegister.gyroscopeConfiguration)
    try registers.write(settings.accelerometerRange, to: MPURegister.accelerometerConfiguration)
    if model.hasSeparateAccelerometerFilter {
      try registers.write(settings.filter, to: MPURegister.accelerometerConfiguration2)
    }
    try registers.write(MPURegister.clearOnAnyRead, to: MPURegister.interruptPin)
    try registers.write(MPURegister.dataReady, to: MPURegister.interruptEnable)
    try registers.write(MPURegister.gyroscopeAndAccelerometer, to: MPURegister.fifoEnable)
    try restartFIFO()
  }

  /// Right after an edge the newest sample is known to be that edge's. An edge that comes while the FIFO is being looked at
  /// leaves open whose it is; the sample clock tells then.
  public func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    guard let model else { return }
    let edgesBefore = try connection.dataReady?.takeEdges()
    let status = try registers.read(MPURegister.interruptStatus)
    let countBytes = try registers.read(MPURegister.fifoCount, count: 2)
    let waiting = Int(countBytes[0]) << 8 | Int(countBytes[1])
    let readAt = connection.clock.now
    let edgesMeanwhile = try connection.dataReady?.takeEdges()
    // After an overflow the oldest bytes are overwritten and frames are no longer aligned: all of it is lost.
    if status & MPURegister.fifoOverflow != 0 || waiting >= model.fifoSize {
      counters.overflows += 1
      return try startOver(&batch)
    }
    // A frame that the chip is writing is whole at the next look. What stays torn was torn by the bus: the kernel repeats a
    // read that lost arbitration, and gets the bytes behind those that it had.
    let remainder = waiting % MPUDriver.frameLength
    defer { lastRemainder = remainder }
    if remainder != 0 {
      if remainder != lastRemainder { return }
      counters.misreads += 1
      return try startOver(&batch)
    }
    let count = min(waiting / MPUDriver.frameLength, IMUBatch.capacity)
    guard count > 0 else { return }
    let bytes: UnsafeRawBufferPointer
    do throws(HardwareError) {
      bytes = try registers.readPort(
        MPURegister.fifo, count: count * MPUDriver.frameLength, unit: MPUDriver.frameLength)
    } catch .arbitrationLost {
      counters.misreads += 1
      return try startOver(&batch)
    }
    batch.followsGap = hasGap
    hasGap = false
    if let edgesBefore, edgesMeanwhile == nil, edgesBefore.count < MPUDriver.edgeQueueLength {
      decode(bytes, count, sampleClock.stamp(count, edge: edgesBefore.latest.at), &batch)
    } else {
      decode(bytes, count, sampleClock.stamp(count, readAt: readAt), &batch)
    }
    counters.samples += count
    try readTemperature(model)
    batch.temperatureCelsius = temperatureCelsius
  }

  /// Drops what is in the FIFO: nobody knows any more where a frame begins.
  private func startOver(_ batch: inout IMUBatch) throws(HardwareError) {
    hasGap = true
    batch.followsGap = true
    sampleClock.reset()
    try restartFIFO()
  }

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
    let accelerometerScale = settings.metresPerSecondSquaredPerUnit
    let gyroscopeScale = settings.radiansPerSecondPerUnit
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
