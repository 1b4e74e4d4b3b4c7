import HardwareIO
import MonotonicTime

/// Registers of the ICM-20948, by the names of its data sheet (DS-000189), bank by bank.
///
/// Pitfalls:
///
/// - Only the first bank has an identity register, so a chip left in another bank cannot be recognized.
/// - The data sheet gives the FIFO 512 bytes, but 4096 have been observed.
/// - Each sensor has its own rate. Every frame is complete only if both rates are the same.
/// - The chip starts asleep.
enum ICM20948Register {
  /// REG_BANK_SEL, in every bank.
  static let bank: UInt8 = 0x7F

  // The first bank, number 0
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x00
  /// USER_CTRL.
  static let userControl: UInt8 = 0x03
  /// PWR_MGMT_1.
  static let powerManagement1: UInt8 = 0x06
  /// INT_PIN_CFG: the electrical settings of the interrupt pin (0 is an active-high, driven pulse), and the bypass.
  static let interruptPin: UInt8 = 0x0F
  /// INT_ENABLE_1.
  static let interruptEnable1: UInt8 = 0x11
  /// INT_STATUS_2: whether the FIFO overflowed; reading clears it.
  static let overflowStatus: UInt8 = 0x1B
  /// TEMP_OUT_H, high byte first.
  static let temperature: UInt8 = 0x39
  /// FIFO_EN_2: the contents of the FIFO.
  static let fifoEnable2: UInt8 = 0x67
  /// FIFO_RST: reset, which is held and then released.
  static let fifoReset: UInt8 = 0x68
  /// FIFO_MODE: the behaviour of a full FIFO.
  static let fifoMode: UInt8 = 0x69
  /// FIFO_COUNTH and FIFO_COUNTL: the number of bytes.
  static let fifoCount: UInt8 = 0x70
  /// FIFO_R_W: the FIFO's next byte.
  static let fifo: UInt8 = 0x72

  // The third bank, number 2
  /// GYRO_SMPLRT_DIV: rate = 1125 Hz / (1 + value).
  static let gyroscopeDivider: UInt8 = 0x00
  /// GYRO_CONFIG_1: filter in bits 5:3, full scale in bits 2:1, and whether the filter is on.
  static let gyroscope: UInt8 = 0x01
  /// ODR_ALIGN_EN: both sensors start together.
  static let alignment: UInt8 = 0x09
  /// ACCEL_SMPLRT_DIV_1 and _2: like the gyroscope's, in twelve bits.
  static let accelerometerDividerHigh: UInt8 = 0x10
  static let accelerometerDividerLow: UInt8 = 0x11
  /// ACCEL_CONFIG: like the gyroscope's.
  static let accelerometer: UInt8 = 0x14

  static let identity: UInt8 = 0xEA

  // Banks
  static let bank0: UInt8 = 0x00
  static let bank2: UInt8 = 0x20
  /// The banks without an identity register.
  static let otherBanks: [UInt8] = [0x10, 0x20, 0x30]

  // Power management 1
  static let deviceReset: UInt8 = 0x80
  static let sleep: UInt8 = 0x40
  /// Selects the best available clock.
  static let bestClock: UInt8 = 0x01

  // User control
  static let fifoOn: UInt8 = 0x40

  // Interrupts
  static let dataReady: UInt8 = 0x01
  static let overflow: UInt8 = 0x1F
  static let pulses: UInt8 = 0x00
  /// Connects the chip's own bus to the host's.
  static let bypass: UInt8 = 0x02

  // FIFO: the accelerometer, which comes first, and the three axes of the gyroscope
  static let accelerometerAndGyroscope: UInt8 = 0x1E
  /// A full FIFO accepts no more frames, so that the frames stay complete.
  static let stopWhenFull: UInt8 = 0x1F
  static let holdInReset: UInt8 = 0x1F

  static let aligned: UInt8 = 0x01
  /// Configuration of either sensor: the filter is on.
  static let filtered: UInt8 = 0x01
}

/// Driver of the gyroscope and the accelerometer of the ICM-20948. It connects the chip's magnetometer to the bus for
/// another driver.
final class ICM20948Driver: InertialDriver {
  /// The number of samples that the driver lets the FIFO collect. It leaves room for one more frame, because only a
  /// FIFO with room for a frame has certainly dropped none.
  static let fifoSampleCount = fifoSize / frameLength - 1

  /// The FIFO's size in bytes according to the data sheet. Some chips have a larger FIFO, which the driver does not
  /// use.
  private static let fifoSize = 512
  /// The length of a frame: accelerometer and gyroscope, three axes of two bytes each.
  private static let frameLength = 12

  var counters: InertialCounters { readout.counters }

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let configuration: InertialConfiguration
  private let rate: ICM20948Rate
  private let gyroscopeScale: Float
  private let accelerometerScale: Float
  private var readout: FIFOReadout
  /// The number of bytes that followed the last complete frame at the last read.
  private var lastRemainder = 0

  init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    self.configuration = configuration
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: ICM20948Driver.fifoSize)
    rate = ICM20948Rate(nearest: configuration.rateHz)
    readout = FIFOReadout(connection, rateHz: rate.hertz)
    gyroscopeScale = Float(configuration.gyroscopeRange.rawValue) * .pi / 180 / 32768
    accelerometerScale = Float(configuration.accelerometerRange.rawValue) * 9.80665 / 32768
  }

  func start() throws(HardwareError) {
    // An earlier program may have left another bank selected, which has no identity register.
    try registers.write(ICM20948Register.bank0, to: ICM20948Register.bank)
    try InertialChip.icm20948.identity.require("ICM-20948", of: registers)
    try registers.write(ICM20948Register.deviceReset, to: ICM20948Register.powerManagement1)
    connection.pause(.milliseconds(100))
    try registers.write(ICM20948Register.bestClock, to: ICM20948Register.powerManagement1)
    // The maximum start-up time of the gyroscope.
    connection.pause(.milliseconds(35))
    try registers.write(ICM20948Register.bank2, to: ICM20948Register.bank)
    try registers.write(ICM20948Register.aligned, to: ICM20948Register.alignment)
    try registers.write(rate.divider, to: ICM20948Register.gyroscopeDivider)
    try registers.write(
      rate.filter << 3 | configuration.gyroscopeRange.icm20948Bits | ICM20948Register.filtered,
      to: ICM20948Register.gyroscope)
    try registers.write(0, to: ICM20948Register.accelerometerDividerHigh)
    try registers.write(rate.divider, to: ICM20948Register.accelerometerDividerLow)
    try registers.write(
      rate.filter << 3 | configuration.accelerometerRange.icm20948Bits | ICM20948Register.filtered,
      to: ICM20948Register.accelerometer)
    try registers.write(ICM20948Register.bank0, to: ICM20948Register.bank)
    // The bypass stays on while the chip sleeps.
    try registers.write(ICM20948Register.pulses | ICM20948Register.bypass, to: ICM20948Register.interruptPin)
    if connection.dataReady != nil {
      try registers.write(ICM20948Register.dataReady, to: ICM20948Register.interruptEnable1)
    }
    try registers.write(ICM20948Register.stopWhenFull, to: ICM20948Register.fifoMode)
    try registers.write(ICM20948Register.accelerometerAndGyroscope, to: ICM20948Register.fifoEnable2)
    try restartFIFO()
  }

  func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    let (waiting, hasOverflown) = try readout.look { () throws(HardwareError) in
      let status = try registers.read(ICM20948Register.overflowStatus)
      let waiting = Int(UInt16(bitPattern: try registers.read(ICM20948Register.fifoCount, count: 2).bigEndian(at: 0)))
      // If the FIFO has no room for another frame, the chip may already have dropped one.
      let isFull = waiting > ICM20948Driver.fifoSize - ICM20948Driver.frameLength
      return (waiting, isFull || status & ICM20948Register.overflow != 0)
    }
    if hasOverflown { return try startOver(.overflow, &batch) }
    // A frame that the chip is still writing is complete at the next read. A frame that stays incomplete was damaged
    // on the bus.
    let remainder = waiting % ICM20948Driver.frameLength
    defer { lastRemainder = remainder }
    if remainder != 0 {
      if remainder != lastRemainder { return }
      return try startOver(.misread, &batch)
    }
    let count = waiting / ICM20948Driver.frameLength
    guard count > 0 else { return }
    let bytes: UnsafeRawBufferPointer
    do throws(HardwareError) {
      bytes = try registers.readPort(
        ICM20948Register.fifo, count: count * ICM20948Driver.frameLength, unit: ICM20948Driver.frameLength)
    } catch .arbitrationLost {
      return try startOver(.misread, &batch)
    }
    for offset in stride(from: 0, to: bytes.count, by: ICM20948Driver.frameLength) {
      func axis(_ number: Int) -> Float { bytes.bigEndian(at: offset + 2 * number).measured }
      batch.append(
        gyroscope: SIMD3(axis(3), axis(4), axis(5)) * gyroscopeScale,
        accelerometer: SIMD3(axis(0), axis(1), axis(2)) * accelerometerScale)
    }
    try readout.complete(&batch) { () throws(HardwareError) in
      // TEMP_OUT has 333.87 units per degree, and 0 means 21 degrees.
      Float(try registers.read(ICM20948Register.temperature, count: 2).bigEndian(at: 0)) / 333.87 + 21
    }
  }

  func stop() {
    // A failed start may have left another bank selected.
    try? registers.write(ICM20948Register.bank0, to: ICM20948Register.bank)
    try? registers.write(ICM20948Register.sleep, to: ICM20948Register.powerManagement1)
  }

  /// Discards the contents of the FIFO, because the start of a frame and the number of losses are unknown.
  private func startOver(_ loss: FIFOReadout.Loss, _ batch: inout IMUBatch) throws(HardwareError) {
    readout.lose(loss, &batch)
    try restartFIFO()
  }

  private func restartFIFO() throws(HardwareError) {
    try registers.write(0, to: ICM20948Register.userControl)
    try registers.write(ICM20948Register.holdInReset, to: ICM20948Register.fifoReset)
    try registers.write(0, to: ICM20948Register.fifoReset)
    try registers.write(ICM20948Register.fifoOn, to: ICM20948Register.userControl)
  }
}

/// A rate at which both sensors can measure, and its filter.
struct ICM20948Rate {
  /// The divider. The rate is 1125 Hz / (1 + divider).
  let divider: UInt8

  var hertz: Double { 1125 / (Double(divider) + 1) }

  /// The nearest rate by its divider, or the next faster one if the nearest is below 95 % of the requested rate.
  init(nearest requested: Double) {
    let quotient = min(max((1125 / requested).rounded(), 1), 256)
    let isTooSlow = 1125 / quotient < 0.95 * requested
    divider = UInt8(clamping: Int(quotient) - (isTooSlow ? 2 : 1))
  }

  /// The widest low-pass filter up to half of the rate, to avoid aliasing, or else the narrowest filter. The bandwidths
  /// of the two sensors differ slightly. The wider ones are 473, 246, 119.5, 51.2, 23.9, 11.6 and 5.7 Hz.
  var filter: UInt8 {
    switch hertz / 2 {
    case 473...: 7
    case 246...: 1
    case 119.5...: 2
    case 51.2...: 3
    case 23.9...: 4
    case 11.6...: 5
    default: 6
    }
  }
}

extension InertialConfiguration.AccelerometerRange {
  fileprivate var icm20948Bits: UInt8 {
    switch self {
    case .g2: 0x00
    case .g4: 0x02
    case .g8: 0x04
    case .g16: 0x06
    }
  }
}

extension InertialConfiguration.GyroscopeRange {
  fileprivate var icm20948Bits: UInt8 {
    switch self {
    case .dps250: 0x00
    case .dps500: 0x02
    case .dps1000: 0x04
    case .dps2000: 0x06
    }
  }
}

extension InertialChip {
  static var icm20948: InertialChip {
    InertialChip(
      name: "icm-20948", title: "ICM-20948", addresses: [0x69, 0x68],
      identity: ChipIdentity(register: ICM20948Register.whoAmI, values: [ICM20948Register.identity]),
      provenAgainst: "PX4, ICM20948_WE",
      fifoSampleCount: ICM20948Driver.fifoSampleCount, readout: BusReadout(bytesPerSample: 12),
      // The currents are from the D.C. electrical characteristics: both sensors without the magnetometer, and asleep.
      milliamperes: 3, sleepMilliamperes: 0.008, ratesHz: 4.4...1125,
      actualRate: { ICM20948Rate(nearest: $0).hertz },
      makeDriver: { ICM20948Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(ICM20948Register.sleep, to: ICM20948Register.powerManagement1)
      })
  }
}
