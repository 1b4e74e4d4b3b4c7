import HardwareIO
import MonotonicTime

/// The accelerometer of a BMI088: a separate chip, with its own address, FIFO and clock.
///
/// It gives the specific force at any instant between two of its samples. A sample clock estimates the times of the
/// samples from the times of the reads. Once it has learned the period, the times are accurate to half a period.
struct BMI088Accelerometer {
  /// The result of reading the FIFO.
  enum Reading {
    case complete
    case overflow
    case misread
  }

  /// The specific force at an instant, if it is known.
  enum Answer {
    case force(SIMD3<Float>)
    /// The next sample after the instant has not arrived yet.
    case notYet
    /// The instant is before the oldest sample, so the value will never be known.
    case never
  }

  private struct Sample {
    /// The time in nanoseconds on the monotonic clock.
    var at: Int64
    /// The specific force, m/s².
    var force: SIMD3<Float>
  }

  /// The size of the FIFO in bytes.
  static let fifoSize = 1024

  /// The length of a frame: a header and three axes of two bytes.
  private static let frameLength = 7

  private let registers: I2CRegisters
  private let rate: BMI088Rate
  private let range: InertialConfiguration.AccelerometerRange
  private let scale: Float
  private var sampleClock: SampleClock
  /// The samples, oldest first. The first `used` samples are no longer needed.
  private var samples: [Sample] = []
  private var used = 0

  /// - Parameter registers: the chip's registers, with room for `fifoSize` bytes
  init(
    _ registers: I2CRegisters, _ rate: BMI088Rate, _ range: InertialConfiguration.AccelerometerRange
  ) {
    self.registers = registers
    self.rate = rate
    self.range = range
    // Each of the chip's ranges is 1.5 times the range of the configuration: 3 g for 2 g, and so on.
    scale = Float(range.rawValue) * 1.5 * 9.80665 / 32768
    sampleClock = SampleClock(rateHz: rate.accelerometerHertz)
    samples.reserveCapacity(2 * BMI088Accelerometer.fifoSize / BMI088Accelerometer.frameLength)
  }

  /// Finds the accelerometer of a BMI088, without writing to any chip.
  ///
  /// - Returns: its registers, or `nil` if no BMI088 accelerometer answers at either address
  /// - Throws: `.busy` if a kernel driver uses one of the two addresses and the other address has no accelerometer; or
  ///   the error of the bus
  static func find(beside gyroscope: I2CRegisters, capacity: Int) throws(HardwareError) -> I2CRegisters? {
    // On most boards, both chips have their address pin at the same level. Try that address first, because two BMI088
    // may share the bus.
    let addresses: [UInt8] = gyroscope.address == 0x68 ? [0x18, 0x19] : [0x19, 0x18]
    var taken: HardwareError?
    for address in addresses {
      let registers = I2CRegisters(gyroscope.bus, address: address, capacity: capacity)
      do throws(HardwareError) {
        if try registers.read(BMI088AccelerometerRegister.chipID) == BMI088AccelerometerRegister.identity {
          return registers
        }
      } catch {
        switch error {
        case .noAcknowledge: break
        case .busy: taken = error
        default: throw error
        }
      }
    }
    if let taken { throw taken }
    return nil
  }

  /// Puts the chip to sleep. It switches the sensor off before it suspends the chip, because a suspended chip needs
  /// time between two writes, and this function cannot wait.
  static func sleep(_ registers: I2CRegisters) throws(HardwareError) {
    try registers.write(BMI088AccelerometerRegister.off, to: BMI088AccelerometerRegister.powerControl)
    try registers.write(BMI088AccelerometerRegister.suspended, to: BMI088AccelerometerRegister.powerConfiguration)
  }

  func sleep() throws(HardwareError) { try BMI088Accelerometer.sleep(registers) }

  /// Starts sampling into the FIFO, whatever the chip's state.
  func start(pause: (Duration) -> Void) throws(HardwareError) {
    try registers.write(BMI088AccelerometerRegister.softReset, to: BMI088AccelerometerRegister.command)
    pause(.milliseconds(2))
    try registers.write(BMI088AccelerometerRegister.on, to: BMI088AccelerometerRegister.powerControl)
    pause(.milliseconds(5))
    try registers.write(BMI088AccelerometerRegister.active, to: BMI088AccelerometerRegister.powerConfiguration)
    // The maximum start-up time of the accelerometer.
    pause(.milliseconds(50))
    try registers.write(
      BMI088AccelerometerRegister.normalFilter | rate.accelerometerBits,
      to: BMI088AccelerometerRegister.configuration)
    try registers.write(range.bmi088Bits, to: BMI088AccelerometerRegister.range)
    try registers.write(BMI088AccelerometerRegister.fifoStream, to: BMI088AccelerometerRegister.fifoConfiguration0)
    try registers.write(BMI088AccelerometerRegister.fifoOn, to: BMI088AccelerometerRegister.fifoConfiguration1)
  }

  /// Empties the FIFO, drops the samples, and forgets the times of earlier reads.
  mutating func restart() throws(HardwareError) {
    samples.removeAll(keepingCapacity: true)
    used = 0
    sampleClock.reset()
    try registers.write(BMI088AccelerometerRegister.flushFIFO, to: BMI088AccelerometerRegister.command)
  }

  /// Reads all samples that the FIFO holds.
  mutating func read(_ clock: any MonotonicTimeSource) throws(HardwareError) -> Reading {
    let status = UInt16(
      bitPattern: try registers.read(BMI088AccelerometerRegister.fifoLength, count: 2).littleEndian(at: 0))
    let readAt = clock.now
    let length = Int(status & BMI088AccelerometerRegister.fifoLengthBits)
    guard status & BMI088AccelerometerRegister.fifoIsEmpty == 0, length > 0 else { return .complete }
    guard length <= BMI088Accelerometer.fifoSize else { return .misread }
    let bytes: UnsafeRawBufferPointer
    do throws(HardwareError) {
      bytes = try registers.readPort(
        BMI088AccelerometerRegister.fifoData, count: length, unit: BMI088Accelerometer.frameLength)
    } catch .arbitrationLost {
      return .misread
    }
    samples.removeSubrange(..<used)
    used = 0
    let before = samples.count
    let reading = decode(bytes)
    let count = samples.count - before
    guard reading == .complete, count > 0 else { return reading }
    let (first, period) = sampleClock.stamp(count, readAt: readAt)
    for index in 0..<count { samples[before + index].at = first + Int64(period * Double(index)) }
    return .complete
  }

  /// Returns the specific force at an instant. Call it with increasing instants: the function drops earlier samples.
  mutating func answer(at instant: MonotonicInstant) -> Answer {
    let instant = instant.nanoseconds
    while used + 1 < samples.count, samples[used + 1].at <= instant { used += 1 }
    guard used < samples.count else { return .notYet }
    let early = samples[used]
    if instant <= early.at {
      return Double(early.at - instant) < sampleClock.period / 2 ? .force(early.force) : .never
    }
    guard used + 1 < samples.count else { return .notYet }
    let late = samples[used + 1]
    let part = Float(instant - early.at) / Float(late.at - early.at)
    return .force(early.force + (late.force - early.force) * part)
  }

  /// The temperature in degrees Celsius; `nil` before the first measurement, which takes one second.
  func temperature() throws(HardwareError) -> Float? {
    let bytes = try registers.read(BMI088AccelerometerRegister.temperature, count: 2)
    guard bytes[0] != BMI088AccelerometerRegister.noTemperature else { return nil }
    // The unit is an eighth of a degree, and 0 means 23 degrees (5.3.7).
    return Float(bytes.bigEndian(at: 0) >> 5) / 8 + 23
  }

  private mutating func decode(_ bytes: UnsafeRawBufferPointer) -> Reading {
    var offset = 0
    while offset < bytes.count {
      let payload: Int
      switch bytes[offset] & BMI088AccelerometerRegister.headerMask {
      case BMI088AccelerometerRegister.sampleFrame: payload = 6
      case BMI088AccelerometerRegister.skipFrame: return .overflow
      case BMI088AccelerometerRegister.timeFrame: payload = 3
      case BMI088AccelerometerRegister.configurationFrame, BMI088AccelerometerRegister.dropFrame: payload = 1
      default: return .misread
      }
      // The next read repeats an incomplete frame.
      guard offset + payload < bytes.count else { break }
      if payload == 6 {
        func axis(_ number: Int) -> Float { bytes.littleEndian(at: offset + 1 + 2 * number).measured }
        samples.append(Sample(at: 0, force: SIMD3(axis(0), axis(1), axis(2)) * scale))
      }
      offset += 1 + payload
    }
    return .complete
  }
}

extension InertialConfiguration.AccelerometerRange {
  fileprivate var bmi088Bits: UInt8 {
    switch self {
    case .g2: 0x00
    case .g4: 0x01
    case .g8: 0x02
    case .g16: 0x03
    }
  }
}
