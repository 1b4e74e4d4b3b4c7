import HardwareIO
import MonotonicTime

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
