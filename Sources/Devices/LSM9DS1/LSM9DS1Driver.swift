import HardwareIO
import MonotonicTime

/// Driver of the LSM9DS1's inertial half. A FIFO entry has the values of both sensors. The driver reads each sensor's
/// values through its own output registers, so a sample takes two reads.
///
/// The chip's axes are left-handed. Boards have x and y printed on them, so the driver reverses z, which then points
/// into the board.
final class LSM9DS1Driver: InertialDriver {
  static let fifoSampleCount = 32

  private static let sampleLength = 6
  private static let axes = SIMD3<Float>(1, 1, -1)

  var counters: InertialCounters { readout.counters }
  /// The driver does not enable the chip's data-ready line, which would stay high until the output registers are read.
  let signalsSamples = false

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let configuration: InertialConfiguration
  private let rate: LSM9DS1Rate
  private let accelerometerScale: SIMD3<Float>
  private let gyroscopeScale: SIMD3<Float>
  private var readout: FIFOReadout

  init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    self.configuration = configuration
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: LSM9DS1Driver.sampleLength)
    rate = LSM9DS1Rate(nearest: configuration.rateHz)
    readout = FIFOReadout(connection, rateHz: rate.hertz)
    accelerometerScale = LSM9DS1Driver.axes * (configuration.accelerometerRange.lsm9ds1GravitiesPerUnit * 9.80665)
    gyroscopeScale = LSM9DS1Driver.axes * (configuration.gyroscopeRange.lsm9ds1DegreesPerUnit * .pi / 180)
  }

  func start() throws(HardwareError) {
    let chip = InertialChip.lsm9ds1
    try chip.identity.require(chip.title, of: registers)
    try registers.write(LSM9DS1Register.softwareReset, to: LSM9DS1Register.control8)
    connection.pause(.milliseconds(20))
    try registers.write(LSM9DS1Register.blockUpdateAndIncrement, to: LSM9DS1Register.control8)
    try registers.write(
      rate.bits << 5 | configuration.gyroscopeRange.lsm9ds1Bits, to: LSM9DS1Register.gyroscope)
    try registers.write(
      rate.bits << 5 | configuration.accelerometerRange.lsm9ds1Bits, to: LSM9DS1Register.accelerometer)
    try registers.write(LSM9DS1Register.fifoOn, to: LSM9DS1Register.control9)
    // This covers the settling time of the gyroscope's filters at any sample rate.
    connection.pause(.milliseconds(250))
    try restartFIFO()
  }

  func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    let status = try readout.look { () throws(HardwareError) in try registers.read(LSM9DS1Register.fifoSource) }
    if status & LSM9DS1Register.overrun != 0 { return try startOver(.overflow, &batch) }
    let count = min(Int(status & LSM9DS1Register.countBits), LSM9DS1Driver.fifoSampleCount)
    for _ in 0..<count {
      do throws(HardwareError) {
        let gyroscope = try sample(LSM9DS1Register.gyroscopeOutput)
        let accelerometer = try sample(LSM9DS1Register.accelerometerOutput)
        batch.append(gyroscope: gyroscope * gyroscopeScale, accelerometer: accelerometer * accelerometerScale)
      } catch .arbitrationLost {
        // After this error, the next samples of the two sensors may not belong together.
        return try startOver(.misread, &batch)
      }
    }
    try readout.complete(&batch) { () throws(HardwareError) in
      // The temperature has 16 units per degree, and 0 means 25 degrees (temperature sensor characteristics).
      Float(try registers.read(LSM9DS1Register.temperature, count: 2).littleEndian(at: 0)) / 16 + 25
    }
  }

  func stop() {
    try? registers.write(0, to: LSM9DS1Register.gyroscope)
    try? registers.write(0, to: LSM9DS1Register.accelerometer)
  }

  /// Takes the oldest sample of a sensor from the FIFO.
  private func sample(_ register: UInt8) throws(HardwareError) -> SIMD3<Float> {
    let bytes = try registers.readPort(
      register, count: LSM9DS1Driver.sampleLength, unit: LSM9DS1Driver.sampleLength)
    return SIMD3(
      bytes.littleEndian(at: 0).measured, bytes.littleEndian(at: 2).measured, bytes.littleEndian(at: 4).measured)
  }

  private func startOver(_ loss: FIFOReadout.Loss, _ batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    readout.lose(loss, &batch)
    try restartFIFO()
  }

  /// Bypasses the FIFO, which empties it (3.5.2), and switches it on again.
  private func restartFIFO() throws(HardwareError) {
    try registers.write(LSM9DS1Register.fifoBypassed, to: LSM9DS1Register.fifoControl)
    try registers.write(LSM9DS1Register.fifoContinuous, to: LSM9DS1Register.fifoControl)
  }
}

/// A rate at which the chip can measure with both sensors.
struct LSM9DS1Rate {
  private static let all: [Double] = [14.9, 59.5, 119, 238, 476, 952]

  let hertz: Double
  /// The bits for both sensors.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = LSM9DS1Rate.all.slowestRate(for: requested)
    hertz = LSM9DS1Rate.all[index]
    bits = UInt8(index + 1)
  }
}

extension InertialConfiguration.AccelerometerRange {
  /// The bits of the range, which are not in the order of the ranges.
  fileprivate var lsm9ds1Bits: UInt8 {
    switch self {
    case .g2: 0x00
    case .g4: 0x10
    case .g8: 0x18
    case .g16: 0x08
    }
  }

  /// Multiples of gravity per unit (sensor characteristics, LA_So).
  fileprivate var lsm9ds1GravitiesPerUnit: Float {
    switch self {
    case .g2: 0.061e-3
    case .g4: 0.122e-3
    case .g8: 0.244e-3
    case .g16: 0.732e-3
    }
  }
}

extension InertialConfiguration.GyroscopeRange {
  /// The bits of the range. The chip has no range of 1000 degrees per second.
  fileprivate var lsm9ds1Bits: UInt8 {
    switch self {
    case .dps250: 0x00
    case .dps500: 0x08
    case .dps1000, .dps2000: 0x18
    }
  }

  /// Degrees per second per unit (sensor characteristics, G_So). The chip's narrowest range is 245 degrees per second.
  fileprivate var lsm9ds1DegreesPerUnit: Float {
    switch self {
    case .dps250: 8.75e-3
    case .dps500: 17.5e-3
    case .dps1000, .dps2000: 70e-3
    }
  }
}
