import HardwareIO
import MonotonicTime

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
