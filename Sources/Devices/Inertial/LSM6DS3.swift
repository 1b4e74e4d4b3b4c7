import HardwareIO
import MonotonicTime

/// Registers of the LSM6DS3TR-C and LSM6DSL, by the names of their data sheets (DS11608, DocID028475), and of the
/// LSM6DS3 (DocID026899), whose registers are the same except for the differences named here.
///
/// Pitfalls:
///
/// - The words of the FIFO have no tags. Only their position in the pattern identifies them.
/// - The first sample after the FIFO is switched on is not valid.
/// - The data-ready line stays high until the output registers are read, unless it is configured to pulse, which the
///   LSM6DS3 cannot do.
/// - The unit of the temperature differs between the chips.
/// - The values of the range bits are not in the order of the ranges.
enum LSM6DS3Register {
  /// FIFO_CTRL3: the samples that go into the FIFO: gyroscope in bits 5:3, accelerometer in bits 2:0.
  static let fifoDecimation: UInt8 = 0x08
  /// FIFO_CTRL5: rate in bits 6:3, mode in bits 2:0.
  static let fifoControl: UInt8 = 0x0A
  /// DRDY_PULSE_CFG_G; the LSM6DS3 has the gyroscope's orientation there.
  static let dataReadyPulse: UInt8 = 0x0B
  /// INT1_CTRL: the events that the pin INT1 signals.
  static let interrupt1: UInt8 = 0x0D
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x0F
  /// CTRL1_XL: rate in bits 7:4, full scale in bits 3:2.
  static let accelerometer: UInt8 = 0x10
  /// CTRL2_G: rate in bits 7:4, full scale in bits 3:2.
  static let gyroscope: UInt8 = 0x11
  /// CTRL3_C.
  static let control3: UInt8 = 0x12
  /// OUT_TEMP_L, low byte first.
  static let temperature: UInt8 = 0x20
  /// FIFO_STATUS1 to FIFO_STATUS4: the number of waiting words, the events, and the position of the next word in the
  /// pattern.
  static let fifoStatus: UInt8 = 0x3A
  /// FIFO_DATA_OUT_L; after FIFO_DATA_OUT_H a burst continues with the next word.
  static let fifoData: UInt8 = 0x3E

  static let lsm6ds3: UInt8 = 0x69
  static let lsm6ds3trc: UInt8 = 0x6A

  /// All samples of both sensors. The gyroscope's values come first.
  static let allOfBoth: UInt8 = 0x09
  // FIFO control: mode
  static let fifoOff: UInt8 = 0x00
  static let fifoContinuous: UInt8 = 0x06
  // FIFO status 2: the overrun, and the high bits of the number of words. FIFO status 1 has the low bits. In the
  // LSM6DS3TR-C, the highest bit of the number is always 0.
  static let overrun: UInt8 = 0x40
  static let countHighBits: UInt8 = 0x0F
  // FIFO status 4
  static let patternHighBits: UInt8 = 0x03
  // Data ready
  static let pulsedDataReady: UInt8 = 0x80
  static let gyroscopeReady: UInt8 = 0x02
  // Control 3
  static let softwareReset: UInt8 = 0x01
  static let blockUpdateAndIncrement: UInt8 = 0x44
}

/// Driver of the LSM6DS3TR-C, LSM6DSL and LSM6DS3. A sample is six words of the FIFO: the axes of the gyroscope and the
/// axes of the accelerometer. The words have no tags, so the driver reads whole samples, and checks the position in the
/// pattern each time.
final class LSM6DS3Driver: InertialDriver {
  static let identities = [LSM6DS3Register.lsm6ds3trc, LSM6DS3Register.lsm6ds3]

  private static let wordsPerSample = 6
  private static let sampleLength = 12

  var counters: InertialCounters { readout.counters }
  /// The LSM6DS3 cannot pulse its data-ready line, so the driver does not enable it.
  var signalsSamples: Bool { !isLSM6DS3 }

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let configuration: InertialConfiguration
  private let rate: LSM6Rate
  private let accelerometerScale: Float
  private let gyroscopeScale: Float
  private var readout: FIFOReadout
  private var isLSM6DS3 = false
  /// Whether the next sample is the first after the FIFO was switched on, which is invalid.
  private var isFirstSample = true

  init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    self.configuration = configuration
    registers = I2CRegisters(
      connection.bus, address: connection.address, capacity: IMUBatch.capacity * LSM6DS3Driver.sampleLength)
    rate = LSM6Rate(nearest: configuration.rateHz)
    readout = FIFOReadout(connection, rateHz: rate.hertz)
    // The values are from the mechanical characteristics: 0.061 mg at 2 g and 8.75 mdps at 250 dps, and in proportion.
    accelerometerScale = Float(configuration.accelerometerRange.rawValue) / 2 * 0.061e-3 * 9.80665
    gyroscopeScale = Float(configuration.gyroscopeRange.rawValue) / 250 * 8.75e-3 * .pi / 180
  }

  func start() throws(HardwareError) {
    // The driver accepts either chip, whichever of the two the board file names.
    try ChipIdentity(register: LSM6DS3Register.whoAmI, values: LSM6DS3Driver.identities).require(
      "relative of the LSM6DS3", of: registers)
    isLSM6DS3 = try registers.read(LSM6DS3Register.whoAmI) == LSM6DS3Register.lsm6ds3
    try registers.write(LSM6DS3Register.softwareReset, to: LSM6DS3Register.control3)
    connection.pause(.milliseconds(20))
    try registers.write(LSM6DS3Register.blockUpdateAndIncrement, to: LSM6DS3Register.control3)
    try registers.write(
      rate.bits << 4 | configuration.accelerometerRange.lsm6Bits, to: LSM6DS3Register.accelerometer)
    try registers.write(rate.bits << 4 | configuration.gyroscopeRange.lsm6Bits, to: LSM6DS3Register.gyroscope)
    try registers.write(LSM6DS3Register.allOfBoth, to: LSM6DS3Register.fifoDecimation)
    // Make the data-ready line pulse. A line that stays high has no edge for the next sample.
    if connection.dataReady != nil, !isLSM6DS3 {
      try registers.write(LSM6DS3Register.pulsedDataReady, to: LSM6DS3Register.dataReadyPulse)
      try registers.write(LSM6DS3Register.gyroscopeReady, to: LSM6DS3Register.interrupt1)
    }
    // This pause covers the settling time of the gyroscope's filters at any sample rate.
    connection.pause(.milliseconds(200))
    try restartFIFO()
  }

  func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    let (words, place, hasOverrun) = try readout.look { () throws(HardwareError) in
      let status = try registers.read(LSM6DS3Register.fifoStatus, count: 4)
      return (
        Int(status[1] & LSM6DS3Register.countHighBits) << 8 | Int(status[0]),
        Int(status[3] & LSM6DS3Register.patternHighBits) << 8 | Int(status[2]),
        status[1] & LSM6DS3Register.overrun != 0
      )
    }
    if hasOverrun { return try startOver(.overflow, &batch) }
    let waiting = words / LSM6DS3Driver.wordsPerSample
    let count = min(waiting, IMUBatch.capacity)
    guard count > 0 else { return }
    // The next word is not the first of a sample, so the bus has damaged a sample.
    guard place == 0 else { return try startOver(.misread, &batch) }
    let bytes: UnsafeRawBufferPointer
    do throws(HardwareError) {
      bytes = try registers.readPort(
        LSM6DS3Register.fifoData, count: count * LSM6DS3Driver.sampleLength, unit: LSM6DS3Driver.sampleLength)
    } catch .arbitrationLost {
      return try startOver(.misread, &batch)
    }
    decode(bytes, count, &batch)
    try readout.complete(&batch, left: waiting - count) { () throws(HardwareError) in
      // The temperature has 256 units per degree (16 in the LSM6DS3), and 0 means 25 degrees.
      let raw = Float(try registers.read(LSM6DS3Register.temperature, count: 2).littleEndian(at: 0))
      return raw / (isLSM6DS3 ? 16 : 256) + 25
    }
  }

  func stop() {
    try? registers.write(0, to: LSM6DS3Register.accelerometer)
    try? registers.write(0, to: LSM6DS3Register.gyroscope)
  }

  private func startOver(_ loss: FIFOReadout.Loss, _ batch: inout IMUBatch) throws(HardwareError) {
    readout.lose(loss, &batch)
    try restartFIFO()
  }

  /// Switches the FIFO off, which empties it, and on again.
  private func restartFIFO() throws(HardwareError) {
    isFirstSample = true
    try registers.write(LSM6DS3Register.fifoOff, to: LSM6DS3Register.fifoControl)
    try registers.write(rate.bits << 3 | LSM6DS3Register.fifoContinuous, to: LSM6DS3Register.fifoControl)
  }

  private func decode(_ bytes: UnsafeRawBufferPointer, _ count: Int, _ batch: inout IMUBatch) {
    for offset in stride(from: 0, to: count * LSM6DS3Driver.sampleLength, by: LSM6DS3Driver.sampleLength) {
      if isFirstSample {
        isFirstSample = false
        continue
      }
      func axis(_ number: Int) -> Float { bytes.littleEndian(at: offset + 2 * number).measured }
      batch.append(
        gyroscope: SIMD3(axis(0), axis(1), axis(2)) * gyroscopeScale,
        accelerometer: SIMD3(axis(3), axis(4), axis(5)) * accelerometerScale)
    }
  }
}

extension InertialChip {
  static var lsm6ds3trc: InertialChip {
    lsm6ds3Family(
      "lsm6ds3tr-c", "LSM6DS3TR-C or LSM6DSL", identity: LSM6DS3Register.lsm6ds3trc,
      // The FIFO has 4096 bytes, and a sample has 12.
      fifoSampleCount: 341, milliamperes: 0.9)
  }

  static var lsm6ds3: InertialChip {
    lsm6ds3Family(
      "lsm6ds3", "LSM6DS3", identity: LSM6DS3Register.lsm6ds3,
      // The FIFO has 8192 bytes, and a sample has 12.
      fifoSampleCount: 682, milliamperes: 1.25)
  }

  private static func lsm6ds3Family(
    _ name: String, _ title: String, identity: UInt8, fifoSampleCount: Int, milliamperes: Double
  ) -> InertialChip {
    InertialChip(
      name: name, title: title, addresses: [0x6A, 0x6B],
      identity: ChipIdentity(register: LSM6DS3Register.whoAmI, values: [identity]),
      relatives: LSM6DS3Driver.identities,
      provenAgainst: "Linux (st_lsm6dsx)", fifoSampleCount: fifoSampleCount, leastFIFOSampleCount: 341,
      readout: BusReadout(bytesPerSample: 12, bytesPerBurst: 4),
      // The currents are from the electrical characteristics: both sensors in high performance, and powered down.
      milliamperes: milliamperes, sleepMilliamperes: 0.006, ratesHz: 12.5...1666,
      actualRate: { LSM6Rate(nearest: $0).hertz },
      makeDriver: { LSM6DS3Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(0, to: LSM6DS3Register.accelerometer)
        try registers.write(0, to: LSM6DS3Register.gyroscope)
      })
  }
}
