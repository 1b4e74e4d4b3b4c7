import HardwareIO
import MonotonicTime

/// Registers of the LSM9DS1's inertial half, by the names of its data sheet (DocID025715, revision 3).
///
/// Pitfalls:
///
/// - The axes of both sensors are left-handed.
/// - The FIFO is read through the output registers of both sensors, six bytes at a time, because other registers lie
///   between the two.
/// - While the gyroscope is on, both sensors have the gyroscope's rate.
/// - The range bits of the accelerometer are not in the order of the ranges, and the unit of 16 g is out of
///   proportion.
/// - The data-ready line stays high until the output registers are read.
enum LSM9DS1Register {
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x0F
  /// CTRL_REG1_G: rate in bits 7:5, full scale in bits 4:3.
  static let gyroscope: UInt8 = 0x10
  /// OUT_TEMP_L, low byte first.
  static let temperature: UInt8 = 0x15
  /// OUT_X_L_G: x, y and z in order, low byte first.
  static let gyroscopeOutput: UInt8 = 0x18
  /// CTRL_REG6_XL: rate in bits 7:5, full scale in bits 4:3.
  static let accelerometer: UInt8 = 0x20
  /// CTRL_REG8.
  static let control8: UInt8 = 0x22
  /// CTRL_REG9.
  static let control9: UInt8 = 0x23
  /// OUT_X_L_XL: x, y and z in order, low byte first.
  static let accelerometerOutput: UInt8 = 0x28
  /// FIFO_CTRL: mode in bits 7:5.
  static let fifoControl: UInt8 = 0x2E
  /// FIFO_SRC: the events, and the number of waiting samples.
  static let fifoSource: UInt8 = 0x2F

  static let identity: UInt8 = 0x68

  // Control 8
  static let softwareReset: UInt8 = 0x01
  static let blockUpdateAndIncrement: UInt8 = 0x44
  // Control 9
  static let fifoOn: UInt8 = 0x02
  // FIFO control: mode, 3.5
  static let fifoBypassed: UInt8 = 0x00
  static let fifoContinuous: UInt8 = 0xC0
  // FIFO source
  static let overrun: UInt8 = 0x40
  static let countBits: UInt8 = 0x3F
}

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
    // This pause covers the settling time of the gyroscope's filters at any sample rate.
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
        // After this error, the next sample of the gyroscope and the next sample of the accelerometer may be from
        // different times.
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

  /// Reads the oldest sample of a sensor from the FIFO.
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

/// Driver of the LSM9DS1's magnetic half, a LIS3MDL with different axes.
///
/// The data sheet of the LSM9DS1 states units of 0.14, 0.29, 0.43 and 0.58 milligauss. These are the units of the
/// LIS3MDL, truncated.
final class LSM9DS1MagnetometerDriver: PolledDriver {
  /// The signs of the axes. The magnetometer's x axis is opposite to the x axis of the inertial half, and its y and z
  /// axes are parallel to those of the inertial half. The driver of the inertial half reverses z to make its axes
  /// right-handed, so this driver reverses z as well.
  private static let axes = SIMD3<Float>(-1, 1, -1)

  private let identity = ChipIdentity(register: LIS3MDLRegister.whoAmI, values: [LIS3MDLRegister.identity])
  private let registers: I2CRegisters
  private let driver: LIS3MDLDriver

  init(_ connection: ChipConnection, _ configuration: PolledConfiguration) {
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: ChipIdentity.longest)
    driver = LIS3MDLDriver(connection, configuration)
  }

  func start() throws(HardwareError) {
    // The driver does not search for the inertial half, which may have no power, or may be in use by another program.
    try identity.require(MagnetometerChip.lsm9ds1Magnetometer.title, of: registers)
    try driver.start()
  }

  func read() throws(HardwareError) -> MagnetometerSample? {
    guard var sample = try driver.read() else { return nil }
    sample.field *= LSM9DS1MagnetometerDriver.axes
    return sample
  }

  func stop() { driver.stop() }

  /// Whether an LSM9DS1's inertial half is on a bus.
  static func hasOtherHalf(on bus: any I2CBus) throws(HardwareError) -> Bool {
    let half = InertialChip.lsm9ds1
    for address in half.addresses {
      do throws(HardwareError) {
        if try half.identity.isTrue(of: I2CRegisters(bus, address: address, capacity: ChipIdentity.longest)) {
          return true
        }
      } catch {
        switch error {
        case .noAcknowledge, .busy: continue
        default: throw error
        }
      }
    }
    return false
  }
}

extension InertialChip {
  /// The entry of the inertial half, the gyroscope and the accelerometer.
  static var lsm9ds1: InertialChip {
    InertialChip(
      name: "lsm9ds1", title: "LSM9DS1", addresses: [0x6B, 0x6A],
      identity: ChipIdentity(register: LSM9DS1Register.whoAmI, values: [LSM9DS1Register.identity]),
      provenAgainst: "Linux (st_lsm6dsx)", fifoSampleCount: LSM9DS1Driver.fifoSampleCount,
      // The output of each sensor takes a separate read.
      readout: BusReadout(bytesPerSample: 12, readsPerSample: 2, bytesPerBurst: 1, readsPerBurst: 1),
      // The currents are from the electrical characteristics: both sensors, and powered down.
      milliamperes: 4, sleepMilliamperes: 0.006, ratesHz: 14.9...952,
      actualRate: { LSM9DS1Rate(nearest: $0).hertz },
      makeDriver: { LSM9DS1Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(0, to: LSM9DS1Register.gyroscope)
        try registers.write(0, to: LSM9DS1Register.accelerometer)
      })
  }
}

extension MagnetometerChip {
  /// The entry of the magnetic half, which looks like a LIS3MDL. Only the inertial half on the same bus shows that it
  /// belongs to an LSM9DS1.
  static var lsm9ds1Magnetometer: MagnetometerChip {
    MagnetometerChip(
      name: "lsm9ds1-mag", title: "LSM9DS1 magnetometer", addresses: [0x1E, 0x1C],
      identity: ChipIdentity(register: LIS3MDLRegister.whoAmI, toldBy: "the LSM9DS1 on the same bus") {
        (registers) throws(HardwareError) in
        guard try registers.read(LIS3MDLRegister.whoAmI) == LIS3MDLRegister.identity else { return false }
        return try LSM9DS1MagnetometerDriver.hasOtherHalf(on: registers.bus)
      },
      provenAgainst: "Linux (st_magn)",
      // The currents are those of a LIS3MDL: ultra-high performance at 20 Hz, and powered down.
      milliamperes: 0.27, sleepMilliamperes: 0.001, ratesHz: 0.625...80,
      actualRate: { LIS3MDLRate(nearest: $0).hertz },
      makeDriver: { LSM9DS1MagnetometerDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(LIS3MDLRegister.poweredDown, to: LIS3MDLRegister.control3)
      })
  }
}
