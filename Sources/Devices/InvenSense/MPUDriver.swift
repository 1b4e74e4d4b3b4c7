import HardwareIO
import MonotonicTime

/// Registers of the MPU-6000 family, by the names of the "MPU-6000 and MPU-6050 Register Map and Descriptions",
/// revision 4.2 (RM-MPU-6000A-00), and the "MPU-9250 Register Map", revision 1.6 (RM-MPU-9250A-00).
///
/// Pitfalls:
///
/// - The chip is asleep after power on.
/// - The FIFO has no watermark.
/// - Reading the interrupt status clears it.
/// - Clones identify themselves as 0x72 or 0x98, with the registers of the MPU-6500. An ICM-20689 identifies itself as
///   0x98 as well.
/// - The FIFO of the ICM-20600 and ICM-20602 always has the temperature between the two sensors.
/// - In the ICM-20690, the gyroscope's full scale is one bit lower.
enum MPURegister {
  /// Sample rate divider, 4.2: rate = 1 kHz / (1 + value) while the low-pass filter is on.
  static let sampleRateDivider: UInt8 = 0x19
  /// Configuration, 4.3: low-pass filter of the gyroscope (and of the MPU-6050's accelerometer).
  static let configuration: UInt8 = 0x1A
  /// Gyroscope configuration, 4.4: full scale in bits 4:3.
  static let gyroscopeConfiguration: UInt8 = 0x1B
  /// Accelerometer configuration, 4.5: full scale in bits 4:3.
  static let accelerometerConfiguration: UInt8 = 0x1C
  /// Accelerometer configuration 2, MPU-9250 4.8: the accelerometer's own low-pass filter; not in the MPU-6050. In
  /// chips with an adjustable FIFO, bits 7:6 set its size. The ICM-20689 starts with 512 bytes.
  static let accelerometerConfiguration2: UInt8 = 0x1D
  /// FIFO enable, 4.6.
  static let fifoEnable: UInt8 = 0x23
  /// Interrupt pin configuration, 4.14.
  static let interruptPin: UInt8 = 0x37
  /// Interrupt enable, 4.15.
  static let interruptEnable: UInt8 = 0x38
  /// Interrupt status, 4.16.
  static let interruptStatus: UInt8 = 0x3A
  /// Temperature, high byte first, 4.18.
  static let temperature: UInt8 = 0x41
  /// User control, 4.27.
  static let userControl: UInt8 = 0x6A
  /// Power management 1, 4.28.
  static let powerManagement1: UInt8 = 0x6B
  /// FIFO count, high byte first, 4.30.
  static let fifoCount: UInt8 = 0x72
  /// FIFO read and write, 4.31.
  static let fifo: UInt8 = 0x74
  /// Who am I, 4.32.
  static let whoAmI: UInt8 = 0x75

  // Power management 1
  static let deviceReset: UInt8 = 0x80
  static let sleep: UInt8 = 0x40
  /// Selects the X gyroscope's oscillator, which is steadier than the internal one.
  static let clockFromGyroscope: UInt8 = 0x01

  // Accelerometer configuration 2
  static let greatestFIFO: UInt8 = 0xC0

  // User control
  static let fifoOn: UInt8 = 0x40
  static let fifoReset: UInt8 = 0x04

  // FIFO enable: the three gyroscope axes and the accelerometer, which comes first in the FIFO.
  static let gyroscopeAndAccelerometer: UInt8 = 0x78

  // Interrupts
  static let fifoOverflow: UInt8 = 0x10
  static let dataReady: UInt8 = 0x01
  /// Any read clears the interrupt, not only a read of the interrupt status.
  static let clearOnAnyRead: UInt8 = 0x10
  /// Connects the chip's own bus to the host's.
  static let bypass: UInt8 = 0x02
}

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

/// The register values of an MPU for a configuration.
struct MPUSettings: Equatable, Sendable {
  /// The divider. The sample rate is 1 kHz / (1 + divider).
  let divider: UInt8
  let gyroscopeRange: UInt8
  let accelerometerRange: UInt8
  /// The unit in rad/s; 32768 units are the full scale.
  let radiansPerSecondPerUnit: Float
  /// The unit in m/s².
  let metresPerSecondSquaredPerUnit: Float

  init(_ configuration: InertialConfiguration) {
    divider = UInt8(clamping: Int((1000 / configuration.rateHz).rounded()) - 1)
    switch configuration.gyroscopeRange {
    case .dps250: gyroscopeRange = 0x00
    case .dps500: gyroscopeRange = 0x08
    case .dps1000: gyroscopeRange = 0x10
    case .dps2000: gyroscopeRange = 0x18
    }
    switch configuration.accelerometerRange {
    case .g2: accelerometerRange = 0x00
    case .g4: accelerometerRange = 0x08
    case .g8: accelerometerRange = 0x10
    case .g16: accelerometerRange = 0x18
    }
    radiansPerSecondPerUnit = Float(configuration.gyroscopeRange.rawValue) * .pi / 180 / 32768
    metresPerSecondSquaredPerUnit = Float(configuration.accelerometerRange.rawValue) * 9.80665 / 32768
  }

  /// The chip's rate that is nearest to the requested rate.
  var rateHz: Double { 1000 / (Double(divider) + 1) }

  /// The widest low-pass filter up to half of the rate, to avoid aliasing, or else the narrowest filter (register map
  /// 4.3: 188, 98, 42, 20, 10 and 5 Hz).
  var filter: UInt8 {
    switch rateHz / 2 {
    case 188...: 1
    case 98...: 2
    case 42...: 3
    case 20...: 4
    case 10...: 5
    default: 6
    }
  }
}
