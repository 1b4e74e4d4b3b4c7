import HardwareIO
import MonotonicTime

/// Registers of the ICM-42688-P, by the names of its data sheet (DS-000347, user bank 0, chapter 14). The ICM-42605
/// has the same registers.
///
/// Pitfalls:
///
/// - There are banks of registers, and only the first has an identity register.
/// - The gyroscope changes its full scale by itself and pauses for 1 to 2 ms each time, unless INTF_CONFIG1 prevents
///   it.
/// - The value -32768 is not a measurement.
/// - Nothing may be written for 200 microseconds after a sensor is switched on.
/// - The count of the FIFO is 0 when it is read for the first time after a flush.
enum ICM42688Register {
  /// DEVICE_CONFIG: reset.
  static let deviceConfiguration: UInt8 = 0x11
  /// INT_CONFIG: the electrical settings of the interrupt pins.
  static let interruptPins: UInt8 = 0x14
  /// FIFO_CONFIG: the FIFO's mode.
  static let fifoMode: UInt8 = 0x16
  /// TEMP_DATA1: high byte first.
  static let temperature: UInt8 = 0x1D
  /// INT_STATUS: the events; reading clears them. FIFO_COUNTH and FIFO_COUNTL follow with the number of bytes in the
  /// FIFO.
  static let interruptStatus: UInt8 = 0x2D
  /// FIFO_DATA: the FIFO's next byte.
  static let fifoData: UInt8 = 0x30
  /// SIGNAL_PATH_RESET: empties the FIFO.
  static let signalPathReset: UInt8 = 0x4B
  /// INTF_CONFIG0: the byte order, and the unit of the FIFO's count.
  static let interface0: UInt8 = 0x4C
  /// INTF_CONFIG1: the clock, and in bits 7:6 whether the gyroscope changes its full scale by itself.
  static let interface1: UInt8 = 0x4D
  /// PWR_MGMT0: the enabled sensors.
  static let powerManagement: UInt8 = 0x4E
  /// GYRO_CONFIG0: full scale in bits 7:5, rate in bits 3:0.
  static let gyroscope: UInt8 = 0x4F
  /// ACCEL_CONFIG0: full scale in bits 7:5, rate in bits 3:0.
  static let accelerometer: UInt8 = 0x50
  /// GYRO_ACCEL_CONFIG0: the bandwidth of both sensors.
  static let bandwidth: UInt8 = 0x52
  /// FIFO_CONFIG1: the contents of the FIFO.
  static let fifoContents: UInt8 = 0x5F
  /// INT_CONFIG1: the interrupts' pulses.
  static let interruptPulses: UInt8 = 0x64
  /// INT_SOURCE0: the events that the pin INT1 signals.
  static let interrupt1: UInt8 = 0x65
  /// WHO_AM_I.
  static let whoAmI: UInt8 = 0x75
  /// REG_BANK_SEL: in every bank.
  static let bank: UInt8 = 0x76

  static let icm42688: UInt8 = 0x47
  static let icm42605: UInt8 = 0x42

  static let softReset: UInt8 = 0x01
  static let firstBank: UInt8 = 0x00
  /// High bytes first, the FIFO's count in bytes, invalid samples marked as such, and no SPI.
  static let bigEndian: UInt8 = 0x32
  // INTF_CONFIG1
  static let fullScaleMask: UInt8 = 0xC0
  static let fullScaleStays: UInt8 = 0x40
  // PWR_MGMT0: both sensors in low noise mode, and the thermometer; all off
  static let bothLowNoise: UInt8 = 0x0F
  static let allOff: UInt8 = 0x00
  /// A bandwidth of half the rate for both sensors, so that nothing aliases.
  static let halfTheRate: UInt8 = 0x00
  // FIFO_CONFIG: keep the newest packets. FIFO_CONFIG1: both sensors and the temperature
  static let stream: UInt8 = 0x40
  static let bothAndTemperature: UInt8 = 0x07
  static let flushFIFO: UInt8 = 0x02
  static let fifoFull: UInt8 = 0x02
  // Interrupts: pulses on the pin INT1, active high and driven, when data is ready; INT_CONFIG1 must be 0 for that
  static let interrupt1High: UInt8 = 0x03
  static let properPulses: UInt8 = 0x00
  static let dataReady: UInt8 = 0x08

  // Header of a packet: both sensors with 16 bits each, and a time; the lowest bits report changed rates
  static let headerMask: UInt8 = 0xF8
  static let bothPacket: UInt8 = 0x68
  /// The value of an axis that has not measured.
  static let nothing = Int16.min
}

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
    // This pause covers the start-up time of the gyroscope, and the 200 microseconds in which nothing may be written.
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

extension InertialChip {
  static var icm42688: InertialChip {
    icm42688Family(
      "icm-42688-p", "ICM-42688-P", identity: ICM42688Register.icm42688, milliamperes: 0.88)
  }

  static var icm42605: InertialChip {
    icm42688Family("icm-42605", "ICM-42605", identity: ICM42688Register.icm42605, milliamperes: 0.65)
  }

  private static func icm42688Family(
    _ name: String, _ title: String, identity: UInt8, milliamperes: Double
  ) -> InertialChip {
    InertialChip(
      name: name, title: title, addresses: [0x68, 0x69],
      identity: ChipIdentity(register: ICM42688Register.whoAmI, values: [identity]),
      relatives: ICM42688Driver.identities,
      provenAgainst: "Linux (inv_icm42600)",
      // The FIFO has 2048 bytes, and a packet has 16.
      fifoSampleCount: 128, readout: BusReadout(bytesPerSample: 16, bytesPerBurst: 3),
      // The currents are from the D.C. electrical characteristics: both sensors in low noise mode, and asleep.
      milliamperes: milliamperes, sleepMilliamperes: 0.0075, ratesHz: 12.5...1000,
      actualRate: { ICM42688Rate(nearest: $0).hertz },
      makeDriver: { ICM42688Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(ICM42688Register.allOff, to: ICM42688Register.powerManagement)
      })
  }
}
