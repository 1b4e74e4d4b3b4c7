import HardwareIO
import MonotonicTime

/// Registers of the LSM6DSOX, by the names and sections of its data sheet (DS12814, revision 4); the LSM6DSO, LSM6DSR
/// and ISM330DHCX have the same registers.
///
/// Pitfalls:
///
/// - A read of several bytes continues from the last FIFO byte to the tag, so that words follow each other.
/// - The data-ready line stays high until the output registers are read, unless it is configured to pulse.
/// - The values of the range bits are not in the order of the ranges.
enum LSM6DSOXRegister {
  /// Batch data rates of both sensors, 9.6: gyroscope in bits 7:4, accelerometer in bits 3:0.
  static let fifoControl3: UInt8 = 0x09
  /// FIFO mode, 9.7.
  static let fifoControl4: UInt8 = 0x0A
  /// Counter of batches, 9.8; its top bit makes the data-ready lines pulse.
  static let counterBatch1: UInt8 = 0x0B
  /// The events that the pin INT1 signals, 9.10.
  static let interrupt1: UInt8 = 0x0D
  /// Who am I, 9.12.
  static let whoAmI: UInt8 = 0x0F
  /// Accelerometer, 9.13: output data rate in bits 7:4, full scale in bits 3:2.
  static let accelerometer: UInt8 = 0x10
  /// Gyroscope, 9.14: output data rate in bits 7:4, full scale in bits 3:2.
  static let gyroscope: UInt8 = 0x11
  /// Control 3, 9.15.
  static let control3: UInt8 = 0x12
  /// Control 6, 9.18.
  static let control6: UInt8 = 0x15
  /// Control 8, 9.20: the accelerometer's filters.
  static let control8: UInt8 = 0x17
  /// Control 9, 9.21.
  static let control9: UInt8 = 0x18
  /// WAKE_UP_SRC: the source of the wake-up. Reading this register clears the register and the interrupt line.
  static let wakeUpSource: UInt8 = 0x1B
  /// Temperature, low byte first, 9.27.
  static let temperature: UInt8 = 0x20
  /// The number of waiting words and the events, 9.46 and 9.47.
  static let fifoStatus1: UInt8 = 0x3A
  /// Tap configuration 0 and 2 (TAP_CFG0, TAP_CFG2), for all interrupts that the chip detects by itself.
  static let tap0: UInt8 = 0x56
  static let tap2: UInt8 = 0x58
  /// WAKE_UP_THS: the threshold in its lowest six bits.
  static let wakeUpThreshold: UInt8 = 0x5B
  /// WAKE_UP_DUR: how many further samples must exceed the threshold, and WAKE_THS_W, the unit of the threshold.
  static let wakeUpDuration: UInt8 = 0x5C
  /// MD1_CFG: the detected interrupts that the pin INT1 signals.
  static let functions1: UInt8 = 0x5E
  /// The tag of the next word, 9.77, followed by six bytes of data.
  static let fifoTag: UInt8 = 0x78

  // FIFO control 4
  static let fifoOff: UInt8 = 0x00
  static let fifoContinuous: UInt8 = 0x06
  // FIFO status 2
  static let overrun: UInt8 = 0x48
  static let countHighBits: UInt8 = 0x03
  // Counter of batches 1
  static let pulsedDataReady: UInt8 = 0x80
  // Interrupt 1
  static let gyroscopeReady: UInt8 = 0x02
  // Control 3
  static let softwareReset: UInt8 = 0x01
  static let blockUpdateAndIncrement: UInt8 = 0x44
  // Control 9: the default, without I3C
  static let withoutI3C: UInt8 = 0xE2

  // Detection of motion
  /// XL_HM_MODE: switches high performance off.
  static let accelerometerLowPower: UInt8 = 0x10
  /// HPCF_XL 5: the cut-off of the high pass is a two-hundredth of the rate, 0.13 Hz. FASTSETTL_MODE_XL: the filter
  /// starts at gravity.
  static let slowHighPass: UInt8 = 0xA8
  /// INT_CLR_ON_READ, SLOPE_FDS and LIR: the line stays until the source is read, and the compared signal is
  /// high-passed.
  static let latchedHighPassed: UInt8 = 0x51
  /// WAKE_THS_W: the unit of the threshold is a 256th of the full scale, 7.8 mg at 2 g.
  static let fineThreshold: UInt8 = 0x10
  /// Two units, 15.6 mg. The noise in low-power mode is 1.8 mg (table 2), about an eighth of the threshold.
  static let wakeUpThreshold15Milligravities: UInt8 = 0x02
  static let at26HzAnd2Gravities: UInt8 = 0x20
  /// INTERRUPTS_ENABLE.
  static let interruptsEnabled: UInt8 = 0x80
  /// INT1_WU.
  static let wakeUp: UInt8 = 0x20
  /// WU_IA.
  static let hasWokenUp: UInt8 = 0x08

  // Tags
  static let gyroscopeTag: UInt8 = 0x01
  static let accelerometerTag: UInt8 = 0x02
}

/// Driver of the LSM6DSOX, LSM6DSO, LSM6DSR and ISM330DHCX. The words of the FIFO have tags with a count. Words of the
/// gyroscope and the accelerometer with the same count belong together.
public final class LSM6DSOXDriver: InertialDriver {
  /// The length of a word: a tag and three axes of two bytes.
  private static let wordLength = 7

  public var counters: InertialCounters { readout.counters }

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let configuration: InertialConfiguration
  private let rate: LSM6Rate
  private let accelerometerScale: Float
  private let gyroscopeScale: Float
  private var readout: FIFOReadout
  /// The first word of a sample whose second word has not arrived.
  private var half: Word?

  private struct Word {
    var tag: UInt8
    /// The count of the sample, modulo 4.
    var count: UInt8
    var axes: SIMD3<Float>
  }

  public init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    self.configuration = configuration
    registers = I2CRegisters(
      connection.bus, address: connection.address, capacity: 2 * IMUBatch.capacity * LSM6DSOXDriver.wordLength)
    rate = LSM6Rate(nearest: configuration.rateHz)
    readout = FIFOReadout(connection, rateHz: rate.hertz)
    // The values are from table 2: 0.061 mg at 2 g and 8.75 mdps at 250 dps, and in proportion.
    accelerometerScale = Float(configuration.accelerometerRange.rawValue) / 2 * 0.061e-3 * 9.80665
    gyroscopeScale = Float(configuration.gyroscopeRange.rawValue) / 250 * 8.75e-3 * .pi / 180
  }

  public func start() throws(HardwareError) {
    try ChipIdentity(register: LSM6DSOXRegister.whoAmI, values: LSM6DSOXDriver.identities).require(
      "relative of the LSM6DSOX", of: registers)
    try registers.write(LSM6DSOXRegister.softwareReset, to: LSM6DSOXRegister.control3)
    connection.pause(.milliseconds(10))
    try registers.write(LSM6DSOXRegister.blockUpdateAndIncrement, to: LSM6DSOXRegister.control3)
    try registers.write(LSM6DSOXRegister.withoutI3C, to: LSM6DSOXRegister.control9)
    try registers.write(
      rate.bits << 4 | configuration.accelerometerRange.lsm6Bits, to: LSM6DSOXRegister.accelerometer)
    try registers.write(rate.bits << 4 | configuration.gyroscopeRange.lsm6Bits, to: LSM6DSOXRegister.gyroscope)
    try registers.write(rate.bits << 4 | rate.bits, to: LSM6DSOXRegister.fifoControl3)
    if connection.dataReady != nil {
      try registers.write(LSM6DSOXRegister.pulsedDataReady, to: LSM6DSOXRegister.counterBatch1)
      try registers.write(LSM6DSOXRegister.gyroscopeReady, to: LSM6DSOXRegister.interrupt1)
    }
    // Samples of the gyroscope from the first 70 ms are not valid (table 4).
    connection.pause(.milliseconds(70))
    try restartFIFO()
  }

  public func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    let (waiting, hasOverrun) = try readout.look { () throws(HardwareError) in
      let status = try registers.read(LSM6DSOXRegister.fifoStatus1, count: 2)
      return (
        Int(status[1] & LSM6DSOXRegister.countHighBits) << 8 | Int(status[0]), status[1] & LSM6DSOXRegister.overrun != 0
      )
    }
    if hasOverrun { return try startOver(.overflow, &batch) }
    let count = min(waiting, 2 * IMUBatch.capacity)
    guard count > 0 else { return }
    let bytes: UnsafeRawBufferPointer
    do throws(HardwareError) {
      bytes = try registers.readPort(
        LSM6DSOXRegister.fifoTag, count: count * LSM6DSOXDriver.wordLength, unit: LSM6DSOXDriver.wordLength)
    } catch .arbitrationLost {
      return try startOver(.misread, &batch)
    }
    guard decode(bytes, count, &batch) else { return try startOver(.misread, &batch) }
    try readout.complete(&batch, left: (waiting - count) / 2) { () throws(HardwareError) in
      // The temperature has 256 units per degree, and 0 means 25 degrees (table 4).
      Float(try registers.read(LSM6DSOXRegister.temperature, count: 2).littleEndian(at: 0)) / 256 + 25
    }
  }

  public func stop() {
    try? registers.write(0, to: LSM6DSOXRegister.accelerometer)
    try? registers.write(0, to: LSM6DSOXRegister.gyroscope)
  }

  static let identities: [UInt8] = [0x6B, 0x6C]

  private func startOver(_ loss: FIFOReadout.Loss, _ batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    readout.lose(loss, &batch)
    try restartFIFO()
  }

  /// Switches the FIFO off, which empties it (data sheet, 6.5.1), and on again.
  private func restartFIFO() throws(HardwareError) {
    half = nil
    try registers.write(LSM6DSOXRegister.fifoOff, to: LSM6DSOXRegister.fifoControl4)
    try registers.write(LSM6DSOXRegister.fifoContinuous, to: LSM6DSOXRegister.fifoControl4)
  }

  /// Joins words into samples.
  ///
  /// - Returns: whether all words were valid
  private func decode(_ bytes: UnsafeRawBufferPointer, _ count: Int, _ batch: inout IMUBatch) -> Bool {
    for index in 0..<count {
      let offset = index * LSM6DSOXDriver.wordLength
      let tag = bytes[offset]
      // The lowest bit is a parity bit, which makes the number of ones even.
      guard tag.nonzeroBitCount.isMultiple(of: 2) else { return false }
      func axis(_ number: Int) -> Float { bytes.littleEndian(at: offset + 1 + 2 * number).measured }
      let word = Word(tag: tag >> 3, count: tag >> 1 & 3, axes: SIMD3(axis(0), axis(1), axis(2)))
      guard word.tag == LSM6DSOXRegister.gyroscopeTag || word.tag == LSM6DSOXRegister.accelerometerTag else {
        return false
      }
      guard let first = half, first.count == word.count, first.tag != word.tag else {
        half = word
        continue
      }
      half = nil
      let (gyroscope, accelerometer) = word.tag == LSM6DSOXRegister.gyroscopeTag ? (word, first) : (first, word)
      batch.append(
        gyroscope: gyroscope.axes * gyroscopeScale, accelerometer: accelerometer.axes * accelerometerScale)
    }
    return true
  }
}

/// A rate of the LSM6 family, samples per second.
struct LSM6Rate {
  private static let all: [Double] = [12.5, 26, 52, 104, 208, 416, 833, 1666]

  let hertz: Double
  /// The bits for both sensors and the FIFO.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = LSM6Rate.all.slowestRate(for: requested)
    hertz = LSM6Rate.all[index]
    bits = UInt8(index + 1)
  }
}

extension InertialConfiguration.AccelerometerRange {
  /// The bits of CTRL1_XL, which are not in the order of the ranges.
  var lsm6Bits: UInt8 {
    switch self {
    case .g2: 0x00
    case .g4: 0x08
    case .g8: 0x0C
    case .g16: 0x04
    }
  }
}

extension InertialConfiguration.GyroscopeRange {
  /// The bits of CTRL2_G.
  var lsm6Bits: UInt8 {
    switch self {
    case .dps250: 0x00
    case .dps500: 0x04
    case .dps1000: 0x08
    case .dps2000: 0x0C
    }
  }
}

extension InertialChip {
  static var lsm6dsox: InertialChip {
    lsm6dsoxFamily(
      "lsm6dsox", "LSM6DSOX or LSM6DSO", identity: 0x6C, milliamperes: 0.55, asleep: 0.003, watching: 0.025)
  }

  static var ism330dhcx: InertialChip {
    lsm6dsoxFamily(
      "ism330dhcx", "ISM330DHCX or LSM6DSR", identity: 0x6B, milliamperes: 1.5, asleep: 0.005, watching: 0.035)
  }

  private static func lsm6dsoxFamily(
    _ name: String, _ title: String, identity: UInt8, milliamperes: Double, asleep sleepMilliamperes: Double,
    watching watchMilliamperes: Double
  ) -> InertialChip {
    InertialChip(
      name: name, title: title, addresses: [0x6A, 0x6B],
      identity: ChipIdentity(register: LSM6DSOXRegister.whoAmI, values: [identity]),
      relatives: LSM6DSOXDriver.identities,
      provenAgainst: "Linux (st_lsm6dsx)",
      // The FIFO has 3072 bytes, and a sample has two words of 7 bytes.
      fifoSampleCount: 219, readout: BusReadout(bytesPerSample: 14),
      // The currents are from table 3: both sensors in high performance, and powered down.
      milliamperes: milliamperes, sleepMilliamperes: sleepMilliamperes, ratesHz: 12.5...1666,
      actualRate: { LSM6Rate(nearest: $0).hertz },
      makeDriver: { LSM6DSOXDriver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(0, to: LSM6DSOXRegister.accelerometer)
        try registers.write(0, to: LSM6DSOXRegister.gyroscope)
      },
      // The current of the accelerometer alone in low-power mode. The data sheets state no value for 26 Hz. This value
      // is higher than the true current.
      wakeOnMotion: WakeOnMotion(milliamperes: watchMilliamperes) { LSM6DSOXMotionDriver($0) })
  }
}
