import HardwareIO
import MonotonicTime

/// Driver of the ICM-42688-P and the ICM-42605. A packet of the FIFO has a header and the values of both sensors.
final class ICM42688Driver: InertialDriver {
  static let identities = [ICM42688Register.icm42688, ICM42688Register.icm42605]

  /// The length of a packet: a header, two times three axes of two bytes, one byte of temperature and two of time.
  private static let packetLength = 16

  var counters: InertialCounters { readout.counters }

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let configuration: InertialConfiguration
  private let rate: ICM42688Rate
  private let gyroscopeScale: Float
  private let accelerometerScale: Float
  private var readout: FIFOReadout
  /// Whether both sensors have measured since the start. Before that, a packet without a measurement is skipped; after
  /// that, it is a gap.
  private var hasMeasured = false

  init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    self.configuration = configuration
    registers = I2CRegisters(
      connection.bus, address: connection.address, capacity: IMUBatch.capacity * ICM42688Driver.packetLength)
    rate = ICM42688Rate(nearest: configuration.rateHz)
    readout = FIFOReadout(connection, rateHz: rate.hertz)
    gyroscopeScale = Float(configuration.gyroscopeRange.rawValue) * .pi / 180 / 32768
    accelerometerScale = Float(configuration.accelerometerRange.rawValue) * 9.80665 / 32768
  }

  func start() throws(HardwareError) {
    // An earlier program may have left another bank selected, which has no identity register.
    try registers.write(ICM42688Register.firstBank, to: ICM42688Register.bank)
    try ChipIdentity(register: ICM42688Register.whoAmI, values: ICM42688Driver.identities).require(
      "relative of the ICM-42688-P", of: registers)
    try registers.write(ICM42688Register.softReset, to: ICM42688Register.deviceConfiguration)
    // A reset takes 1 ms (DEVICE_CONFIG).
    connection.pause(.milliseconds(2))
    try registers.write(ICM42688Register.bigEndian, to: ICM42688Register.interface0)
    let interface = try registers.read(ICM42688Register.interface1)
    try registers.write(
      interface & ~ICM42688Register.fullScaleMask | ICM42688Register.fullScaleStays, to: ICM42688Register.interface1)
    try registers.write(configuration.gyroscopeRange.icm42688Bits | rate.bits, to: ICM42688Register.gyroscope)
    try registers.write(configuration.accelerometerRange.icm42688Bits | rate.bits, to: ICM42688Register.accelerometer)
    try registers.write(ICM42688Register.halfTheRate, to: ICM42688Register.bandwidth)
    if connection.dataReady != nil {
      try registers.write(ICM42688Register.interrupt1High, to: ICM42688Register.interruptPins)
      try registers.write(ICM42688Register.properPulses, to: ICM42688Register.interruptPulses)
      try registers.write(ICM42688Register.dataReady, to: ICM42688Register.interrupt1)
    }
    try registers.write(ICM42688Register.bothAndTemperature, to: ICM42688Register.fifoContents)
    try registers.write(ICM42688Register.bothLowNoise, to: ICM42688Register.powerManagement)
    // This is the start-up time of the gyroscope. It includes the 200 microseconds in which nothing may be written.
    connection.pause(.milliseconds(60))
    try registers.write(ICM42688Register.stream, to: ICM42688Register.fifoMode)
    hasMeasured = false
    try flush()
  }

  func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    let (waiting, isFull) = try readout.look { () throws(HardwareError) in
      let status = try registers.read(ICM42688Register.interruptStatus, count: 3)
      return (
        Int(UInt16(bitPattern: status.bigEndian(at: 1))) / ICM42688Driver.packetLength,
        status[0] & ICM42688Register.fifoFull != 0
      )
    }
    if isFull { return try startOver(.overflow, &batch) }
    let count = min(waiting, IMUBatch.capacity)
    guard count > 0 else { return }
    let bytes: UnsafeRawBufferPointer
    do throws(HardwareError) {
      bytes = try registers.readPort(
        ICM42688Register.fifoData, count: count * ICM42688Driver.packetLength, unit: ICM42688Driver.packetLength)
    } catch .arbitrationLost {
      return try startOver(.misread, &batch)
    }
    guard decode(bytes, count, &batch) else { return try startOver(.misread, &batch) }
    try readout.complete(&batch, left: waiting - count) { () throws(HardwareError) in
      // TEMP_DATA has 132.48 units per degree, and 0 means 25 degrees.
      Float(try registers.read(ICM42688Register.temperature, count: 2).bigEndian(at: 0)) / 132.48 + 25
    }
  }

  func stop() { try? registers.write(ICM42688Register.allOff, to: ICM42688Register.powerManagement) }

  private func startOver(_ loss: FIFOReadout.Loss, _ batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    readout.lose(loss, &batch)
    try flush()
  }

  private func flush() throws(HardwareError) {
    try registers.write(ICM42688Register.flushFIFO, to: ICM42688Register.signalPathReset)
  }

  /// Decodes packets.
  ///
  /// - Returns: whether all of them were valid
  private func decode(_ bytes: UnsafeRawBufferPointer, _ count: Int, _ batch: inout IMUBatch) -> Bool {
    for offset in stride(from: 0, to: count * ICM42688Driver.packetLength, by: ICM42688Driver.packetLength) {
      guard bytes[offset] & ICM42688Register.headerMask == ICM42688Register.bothPacket else { return false }
      func axis(_ number: Int) -> Int16 { bytes.bigEndian(at: offset + 1 + 2 * number) }
      let accelerometer = SIMD3(axis(0), axis(1), axis(2))
      let gyroscope = SIMD3(axis(3), axis(4), axis(5))
      guard min(accelerometer.min(), gyroscope.min()) > ICM42688Register.nothing else {
        // Report a misread. Otherwise the samples before and after the missing one would get adjacent times.
        if hasMeasured { return false }
        continue
      }
      hasMeasured = true
      func measured(_ units: SIMD3<Int16>) -> SIMD3<Float> {
        SIMD3(units.x.measured, units.y.measured, units.z.measured)
      }
      batch.append(
        gyroscope: measured(gyroscope) * gyroscopeScale, accelerometer: measured(accelerometer) * accelerometerScale)
    }
    return true
  }
}

/// A rate at which both sensors can measure.
struct ICM42688Rate {
  /// The rates in ascending order, with the bits for each.
  private static let all: [(hertz: Double, bits: UInt8)] = [
    (12.5, 11), (25, 10), (50, 9), (100, 8), (200, 7), (500, 15), (1000, 6),
  ]

  let hertz: Double
  /// The bits for both sensors.
  let bits: UInt8

  init(nearest requested: Double) {
    (hertz, bits) = ICM42688Rate.all[ICM42688Rate.all.map(\.hertz).slowestRate(for: requested)]
  }
}

extension InertialConfiguration.AccelerometerRange {
  fileprivate var icm42688Bits: UInt8 {
    switch self {
    case .g2: 0x60
    case .g4: 0x40
    case .g8: 0x20
    case .g16: 0x00
    }
  }
}

extension InertialConfiguration.GyroscopeRange {
  fileprivate var icm42688Bits: UInt8 {
    switch self {
    case .dps250: 0x60
    case .dps500: 0x40
    case .dps1000: 0x20
    case .dps2000: 0x00
    }
  }
}
