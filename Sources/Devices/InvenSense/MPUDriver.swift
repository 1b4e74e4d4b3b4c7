import HardwareIO
import MonotonicTime

/// Driver of the MPU-6050, MPU-6500, MPU-9250 and their relatives among the ICM chips.
public final class MPUDriver: InertialDriver {
  /// The longest FIFO frame of these chips, in bytes: accelerometer, temperature and gyroscope, two bytes a value.
  private static let longestFrame = 14

  public private(set) var model: MPUModel?
  public var counters: InertialCounters { readout.counters }

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let settings: MPUSettings
  private var readout: FIFOReadout
  /// The number of bytes that followed the last complete frame at the last read.
  private var lastRemainder = 0

  /// - Parameter connection: the connection at 0x68, or at 0x69 if the AD0 pin is high
  public init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    settings = MPUSettings(configuration)
    registers = I2CRegisters(
      connection.bus, address: connection.address, capacity: IMUBatch.capacity * MPUDriver.longestFrame)
    readout = FIFOReadout(connection, rateHz: settings.rateHz)
  }

  public func start() throws(HardwareError) {
    let model = try identify()
    self.model = model
    // A reset takes up to 100 ms (4.28), after which the chip sleeps.
    try registers.write(MPURegister.deviceReset, to: MPURegister.powerManagement1)
    connection.pause(.milliseconds(100))
    try registers.write(MPURegister.clockFromGyroscope, to: MPURegister.powerManagement1)
    connection.pause(model.startTime)
    try registers.write(settings.filter, to: MPURegister.configuration)
    try registers.write(settings.divider, to: MPURegister.sampleRateDivider)
    try registers.write(
      model.gyroscopeConfiguration(range: settings.gyroscopeRange), to: MPURegister.gyroscopeConfiguration)
    try registers.write(settings.accelerometerRange, to: MPURegister.accelerometerConfiguration)
    if model.hasSeparateAccelerometerFilter {
      try registers.write(settings.filter | model.fifoSizeBits, to: MPURegister.accelerometerConfiguration2)
    }
    // The magnetometer's driver needs the magnetometer on the bus even while the IMU sleeps.
    let bypass = model.hasMagnetometer ? MPURegister.bypass : 0
    try registers.write(MPURegister.clearOnAnyRead | bypass, to: MPURegister.interruptPin)
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
    // After an overflow the oldest bytes are overwritten and frames are no longer aligned, so all samples are lost.
    if hasOverflown { return try startOver(.overflow, &batch) }
    // A frame that the chip is writing is complete at the next read. A frame that stays incomplete was damaged on the
    // bus: the kernel repeats a read that lost arbitration, and then receives the bytes that follow the lost bytes.
    let remainder = waiting % model.frameLength
    defer { lastRemainder = remainder }
    if remainder != 0 {
      if remainder != lastRemainder { return }
      return try startOver(.misread, &batch)
    }
    let count = min(waiting / model.frameLength, IMUBatch.capacity)
    guard count > 0 else { return }
    let bytes: UnsafeRawBufferPointer
    do throws(HardwareError) {
      bytes = try registers.readPort(
        MPURegister.fifo, count: count * model.frameLength, unit: model.frameLength)
    } catch .arbitrationLost {
      return try startOver(.misread, &batch)
    }
    decode(bytes, count, of: model, &batch)
    try readout.complete(&batch) { () throws(HardwareError) in
      model.temperature(raw: try registers.read(MPURegister.temperature, count: 2).bigEndian(at: 0))
    }
  }

  /// Discards the contents of the FIFO, because the start of a frame is unknown.
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
          + "0x\(String(id, radix: 16)), which is not a chip of the MPU family ("
          + MPUModel.allCases.map { "0x" + String($0.rawValue, radix: 16) }.joined(separator: ", ") + ")")
    }
    return model
  }

  private func restartFIFO() throws(HardwareError) {
    // The reset bit works only while the FIFO is off (4.27).
    try registers.write(0, to: MPURegister.userControl)
    try registers.write(MPURegister.fifoReset, to: MPURegister.userControl)
    try registers.write(MPURegister.fifoOn, to: MPURegister.userControl)
  }

  private func decode(_ bytes: UnsafeRawBufferPointer, _ count: Int, of model: MPUModel, _ batch: inout IMUBatch) {
    func axes(at offset: Int) -> SIMD3<Float> {
      SIMD3(
        bytes.bigEndian(at: offset).measured, bytes.bigEndian(at: offset + 2).measured,
        bytes.bigEndian(at: offset + 4).measured)
    }
    for offset in stride(from: 0, to: count * model.frameLength, by: model.frameLength) {
      batch.append(
        gyroscope: axes(at: offset + model.gyroscopeOffset) * settings.radiansPerSecondPerUnit,
        accelerometer: axes(at: offset) * settings.metresPerSecondSquaredPerUnit)
    }
  }
}
