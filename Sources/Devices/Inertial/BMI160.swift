import HardwareIO
import MonotonicTime

/// Registers of the BMI160, by the names and sections of its data sheet (BST-BMI160-DS000, revision 0.8).
///
/// Pitfalls:
///
/// - Both sensors are suspended at first, and a suspended chip accepts only one write per 450 microseconds.
/// - A partly read frame of the FIFO is repeated from its beginning.
/// - A full FIFO drops the oldest frame and reports that in a special frame.
enum BMI160Register {
  /// Chip identification, 2.11.1.
  static let chipID: UInt8 = 0x00
  /// Temperature, low byte first, 2.11.8.
  static let temperature: UInt8 = 0x20
  /// The number of bytes in the FIFO, low byte first, 2.11.9.
  static let fifoLength: UInt8 = 0x22
  /// The FIFO's next byte, 2.11.10.
  static let fifoData: UInt8 = 0x24
  /// Rate and filter of the accelerometer, 2.11.12, and its range, 2.11.13.
  static let accelerometerConfiguration: UInt8 = 0x40
  static let accelerometerRange: UInt8 = 0x41
  /// Rate and filter of the gyroscope, 2.11.14, and its range, 2.11.15.
  static let gyroscopeConfiguration: UInt8 = 0x42
  static let gyroscopeRange: UInt8 = 0x43
  /// The contents of the FIFO, 2.11.19.
  static let fifoConfiguration1: UInt8 = 0x47
  /// Interrupts: the events, 2.11.22; the electrical settings of the pins, 2.11.23; and the pin of each event, 2.11.25.
  static let interruptEnable1: UInt8 = 0x51
  static let interruptOutput: UInt8 = 0x53
  static let interruptMap1: UInt8 = 0x56
  /// Commands, 2.11.38.
  static let command: UInt8 = 0x7E

  static let identity: UInt8 = 0xD1

  // Rate and filter: the filter of normal width, for either sensor
  static let normalFilter: UInt8 = 0x20
  // FIFO configuration 1: both sensors, with headers
  static let framesWithHeaders: UInt8 = 0xD0
  // Interrupts: data ready, on the pin INT1, active high and driven
  static let dataReady: UInt8 = 0x10
  static let interrupt1High: UInt8 = 0x0A
  static let dataReadyOnInterrupt1: UInt8 = 0x80

  // Commands
  static let accelerometerSuspend: UInt8 = 0x10
  static let accelerometerNormal: UInt8 = 0x11
  static let gyroscopeSuspend: UInt8 = 0x14
  static let gyroscopeNormal: UInt8 = 0x15
  static let flushFIFO: UInt8 = 0xB0
  static let softReset: UInt8 = 0xB6

  // Headers of frames, 2.5.1; their two lowest bits hold tags of the interrupt pins
  static let headerMask: UInt8 = 0xFC
  static let bothFrame: UInt8 = 0x8C
  static let gyroscopeFrame: UInt8 = 0x88
  static let accelerometerFrame: UInt8 = 0x84
  static let skipFrame: UInt8 = 0x40
  static let timeFrame: UInt8 = 0x44
  static let configurationFrame: UInt8 = 0x48
}

/// Driver of the BMI160. The chip samples both sensors at one instant. A frame of the FIFO has a header and the values
/// of both sensors.
public final class BMI160Driver: InertialDriver {
  /// The length of a frame: a header, and two times three axes of two bytes.
  private static let frameLength = 13

  public var counters: InertialCounters { readout.counters }

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let configuration: InertialConfiguration
  private let rate: BMI160Rate
  private let gyroscopeScale: Float
  private let accelerometerScale: Float
  private var readout: FIFOReadout

  public init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    self.configuration = configuration
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: 2048)
    rate = BMI160Rate(nearest: configuration.rateHz)
    readout = FIFOReadout(connection, rateHz: rate.hertz)
    gyroscopeScale = Float(configuration.gyroscopeRange.rawValue) * .pi / 180 / 32768
    accelerometerScale = Float(configuration.accelerometerRange.rawValue) * 9.80665 / 32768
  }

  public func start() throws(HardwareError) {
    try InertialChip.bmi160.identity.require("BMI160", of: registers)
    try order(BMI160Register.softReset, taking: .milliseconds(2))
    // Table 13 has the start-up time of each sensor.
    try order(BMI160Register.accelerometerNormal, taking: .milliseconds(5))
    try order(BMI160Register.gyroscopeNormal, taking: .milliseconds(80))
    try registers.write(
      BMI160Register.normalFilter | rate.bits, to: BMI160Register.accelerometerConfiguration)
    try registers.write(configuration.accelerometerRange.bmi160Bits, to: BMI160Register.accelerometerRange)
    try registers.write(BMI160Register.normalFilter | rate.bits, to: BMI160Register.gyroscopeConfiguration)
    try registers.write(configuration.gyroscopeRange.bmi160Bits, to: BMI160Register.gyroscopeRange)
    if connection.dataReady != nil {
      try registers.write(BMI160Register.dataReady, to: BMI160Register.interruptEnable1)
      try registers.write(BMI160Register.interrupt1High, to: BMI160Register.interruptOutput)
      try registers.write(BMI160Register.dataReadyOnInterrupt1, to: BMI160Register.interruptMap1)
    }
    try registers.write(BMI160Register.framesWithHeaders, to: BMI160Register.fifoConfiguration1)
    try registers.write(BMI160Register.flushFIFO, to: BMI160Register.command)
  }

  public func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    let waiting = try readout.look { () throws(HardwareError) in
      Int(try registers.read(BMI160Register.fifoLength, count: 2).littleEndian(at: 0)) & 0x7FF
    }
    guard waiting > 0 else { return }
    let bytes: UnsafeRawBufferPointer
    do throws(HardwareError) {
      bytes = try registers.readPort(BMI160Register.fifoData, count: waiting, unit: BMI160Driver.frameLength)
    } catch .arbitrationLost {
      return try misread(&batch)
    }
    guard let skipped = decode(bytes, &batch) else { return try misread(&batch) }
    // The oldest frames are lost, and the remaining ones are valid.
    if skipped > 0 { readout.lose(.overflow, &batch) }
    try readout.complete(&batch) { () throws(HardwareError) in
      // The unit is 1/512 of a degree, and 0 means 23 degrees.
      Float(try registers.read(BMI160Register.temperature, count: 2).littleEndian(at: 0)) / 512 + 23
    }
  }

  public func stop() {
    try? registers.write(BMI160Register.accelerometerSuspend, to: BMI160Register.command)
    try? registers.write(BMI160Register.gyroscopeSuspend, to: BMI160Register.command)
  }

  private func order(_ command: UInt8, taking time: Duration) throws(HardwareError) {
    try registers.write(command, to: BMI160Register.command)
    connection.pause(time)
  }

  private func misread(_ batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    readout.lose(.misread, &batch)
    try registers.write(BMI160Register.flushFIFO, to: BMI160Register.command)
  }

  /// Decodes frames.
  ///
  /// - Returns: the number of frames that the chip has dropped; `nil` if some bytes are not a frame
  private func decode(_ bytes: UnsafeRawBufferPointer, _ batch: inout IMUBatch) -> Int? {
    var skipped = 0
    var offset = 0
    while offset < bytes.count {
      let payload: Int
      switch bytes[offset] & BMI160Register.headerMask {
      case BMI160Register.bothFrame: payload = 12
      case BMI160Register.gyroscopeFrame, BMI160Register.accelerometerFrame: payload = 6
      case BMI160Register.skipFrame, BMI160Register.configurationFrame: payload = 1
      case BMI160Register.timeFrame: payload = 3
      default: return nil
      }
      // The next read repeats an incomplete frame.
      guard offset + payload < bytes.count else { break }
      func axis(_ number: Int) -> Float { bytes.littleEndian(at: offset + 1 + 2 * number).measured }
      switch bytes[offset] & BMI160Register.headerMask {
      case BMI160Register.bothFrame:
        batch.append(
          gyroscope: SIMD3(axis(0), axis(1), axis(2)) * gyroscopeScale,
          accelerometer: SIMD3(axis(3), axis(4), axis(5)) * accelerometerScale)
      case BMI160Register.skipFrame: skipped += Int(bytes[offset + 1])
      // This skips frames of one sensor alone, before the other sensor has started, and frames that were not requested.
      default: break
      }
      offset += 1 + payload
    }
    return skipped
  }
}

/// A rate at which both sensors can measure.
struct BMI160Rate {
  private static let all: [Double] = [25, 50, 100, 200, 400, 800, 1600]

  let hertz: Double
  /// The bits for both sensors.
  let bits: UInt8

  init(nearest requested: Double) {
    let index = BMI160Rate.all.slowestRate(for: requested)
    hertz = BMI160Rate.all[index]
    bits = UInt8(6 + index)
  }
}

extension InertialConfiguration.AccelerometerRange {
  fileprivate var bmi160Bits: UInt8 {
    switch self {
    case .g2: 0x03
    case .g4: 0x05
    case .g8: 0x08
    case .g16: 0x0C
    }
  }
}

extension InertialConfiguration.GyroscopeRange {
  fileprivate var bmi160Bits: UInt8 {
    switch self {
    case .dps250: 0x03
    case .dps500: 0x02
    case .dps1000: 0x01
    case .dps2000: 0x00
    }
  }
}

extension InertialChip {
  static var bmi160: InertialChip {
    InertialChip(
      name: "bmi160", title: "BMI160", addresses: [0x69, 0x68],
      identity: ChipIdentity(register: BMI160Register.chipID, values: [BMI160Register.identity]),
      provenAgainst: "Linux (bmi160)",
      // The FIFO has 1024 bytes, and a frame has 13.
      fifoSampleCount: 78, readout: BusReadout(bytesPerSample: 13),
      // The currents are from table 2: both sensors in normal mode, and suspended.
      milliamperes: 0.925, sleepMilliamperes: 0.003, ratesHz: 25...1600,
      actualRate: { BMI160Rate(nearest: $0).hertz },
      makeDriver: { BMI160Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(BMI160Register.accelerometerSuspend, to: BMI160Register.command)
        try registers.write(BMI160Register.gyroscopeSuspend, to: BMI160Register.command)
      })
  }
}
