import HardwareIO
import MonotonicTime

/// Driver of the MPU-6050, MPU-6500 and MPU-9250.
public final class MPUDriver: InertialDriver {
  /// Accelerometer and gyroscope, three axes of two bytes each.
  private static let frameLength = 12

  public private(set) var model: MPUModel?
  public var counters: InertialCounters { readout.counters }

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let settings: MPUSettings
  private var readout: FIFOReadout
  /// The bytes beside whole frames that waited at the last read.
  private var lastRemainder = 0

  /// - Parameter connection: at 0x68, or at 0x69 with the AD0 pin high
  public init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    settings = MPUSettings(configuration)
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 1024)
    readout = FIFOReadout(connection, rateHz: settings.rateHz)
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

  public func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    guard let model else { return }
    let (waiting, hasOverflown) = try readout.look { () throws(HardwareError) in
      let status = try registers.read(MPURegister.interruptStatus)
      let waiting = Int(UInt16(bitPattern: try registers.read(MPURegister.fifoCount, count: 2).bigEndian(at: 0)))
      return (waiting, status & MPURegister.fifoOverflow != 0 || waiting >= model.fifoSize)
    }
    // After an overflow the oldest bytes are overwritten and frames are no longer aligned: all of it is lost.
    if hasOverflown { return try startOver(.overflow, &batch) }
    // A frame that the chip is writing is whole at the next look. What stays torn was torn by the bus: the kernel repeats a
    // read that lost arbitration, and gets the bytes behind those that it had.
    let remainder = waiting % MPUDriver.frameLength
    defer { lastRemainder = remainder }
    if remainder != 0 {
      if remainder != lastRemainder { return }
      return try startOver(.misread, &batch)
    }
    let count = min(waiting / MPUDriver.frameLength, IMUBatch.capacity)
    guard count > 0 else { return }
    let bytes: UnsafeRawBufferPointer
    do throws(HardwareError) {
      bytes = try registers.readPort(
        MPURegister.fifo, count: count * MPUDriver.frameLength, unit: MPUDriver.frameLength)
    } catch .arbitrationLost {
      return try startOver(.misread, &batch)
    }
    decode(bytes, count, &batch)
    try readout.complete(&batch) { () throws(HardwareError) in
      model.temperature(raw: try registers.read(MPURegister.temperature, count: 2).bigEndian(at: 0))
    }
  }

  /// Drops what is in the FIFO: nobody knows any more where a frame begins.
  private func startOver(_ loss: FIFOReadout.Loss, _ batch: inout IMUBatch) throws(HardwareError) {
    readout.lose(loss, &batch)
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

  private func decode(_ bytes: UnsafeRawBufferPointer, _ count: Int, _ batch: inout IMUBatch) {
    for offset in stride(from: 0, to: count * MPUDriver.frameLength, by: MPUDriver.frameLength) {
      func axis(_ number: Int) -> Float { Float(bytes.bigEndian(at: offset + 2 * number)) }
      batch.append(
        gyroscope: SIMD3(axis(3), axis(4), axis(5)) * settings.radiansPerSecondPerUnit,
        accelerometer: SIMD3(axis(0), axis(1), axis(2)) * settings.metresPerSecondSquaredPerUnit)
    }
  }
}
