import HardwareIO
import MonotonicTime

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
    // This covers the settling time of the gyroscope's filters at any sample rate.
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
