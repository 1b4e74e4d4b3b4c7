import HardwareIO
import MonotonicTime

/// Driver of the BNO055. It uses neither the chip's magnetometer nor its fusion. The chip has no FIFO, so a read takes
/// the newest sample, if one is due.
///
/// The sensors are behind a controller in the chip, which stretches the clock of the bus while it looks up values. The
/// I2C controllers of Raspberry Pis before the Pi 5 cannot always wait that long, so a transfer fails, or some of its
/// bits are wrong. The driver therefore keeps reads short, repeats failed transfers, verifies writes, and reads a
/// sudden change again. It drops readings that stay implausible. On these boards, connect the chip to a bus that Linux
/// drives through two GPIO lines, because such a bus waits for the chip:
/// `dtoverlay=i2c-gpio,bus=3,i2c_gpio_sda=23,i2c_gpio_scl=24` in config.txt, and `/dev/i2c-3` in the board file.
final class BNO055Driver: InertialDriver {
  /// The length of three axes of two bytes.
  private static let axesLength = 6
  /// The number of attempts at one transfer.
  private static let tries = 3
  /// The longest wait for the chip to answer, more than its start-up time.
  private static let startTime = Duration.seconds(1)
  /// The number of consecutive failures that counts as an error.
  private static let failureLimit = 5
  /// The number of samples from one read of the temperature to the next. The temperature changes slowly.
  private static let temperatureInterval = 50
  /// The greatest difference between two temperatures that agree, in degrees Celsius.
  private static let temperatureStep: Float = 2

  private(set) var counters = InertialCounters()
  /// The driver does not use the chip's interrupt line.
  let signalsSamples = false

  private let registers: I2CRegisters
  private let connection: ChipConnection
  private let configuration: InertialConfiguration
  private let rate: BNO055Rate
  private let accelerometerScale: Float
  /// The largest plausible raw value of the accelerometer, slightly above its range.
  private let accelerometerLimit: Int16
  /// The gyroscope's scale in rad/s per unit, which depends on the firmware version.
  private var gyroscopeScale: Float = 0
  /// The last accepted reading.
  private var last: BNO055Reading?
  /// When the next sample may be taken.
  private var due = MonotonicInstant(nanoseconds: 0)
  /// The number of consecutive failed reads.
  private var failureCount = 0
  /// Whether samples were lost since the last delivered sample.
  private var hasGap = false
  private var samplesUntilTemperature = 0
  private var temperatureCelsius: Float?

  init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    self.configuration = configuration
    registers = I2CRegisters(connection.bus, address: connection.address, capacity: BNO055Driver.axesLength)
    rate = BNO055Rate(nearest: configuration.rateHz)
    accelerometerScale = 1 / BNO055Register.unitsPerMetrePerSecondSquared
    accelerometerLimit = Int16(
      Float(configuration.accelerometerRange.rawValue) * 1.02 * 9.80665 * BNO055Register.unitsPerMetrePerSecondSquared)
  }

  func start() throws(HardwareError) {
    try awaitChip()
    // A suspended chip may ignore a reset.
    try persist { () throws(HardwareError) in
      try registers.write(BNO055Register.normal, to: BNO055Register.power)
    }
    connection.pause(.milliseconds(20))
    do throws(HardwareError) {
      try registers.write(BNO055Register.reset, to: BNO055Register.trigger)
    } catch {
      // The chip may have reset before it acknowledged the command.
      guard error.isPassing else { throw error }
    }
    connection.pause(.milliseconds(650))
    try awaitChip()
    let version = try persist { () throws(HardwareError) -> UInt16 in
      UInt16(bitPattern: try registers.read(BNO055Register.version, count: 2).littleEndian(at: 0))
    }
    // If the range does not affect the units, use the widest range, which loses no resolution.
    let hasOwnUnits = version <= BNO055Register.lastVersionWithOwnUnits
    let gyroscopeRange = hasOwnUnits ? configuration.gyroscopeRange : .dps2000
    let unitsPerDegree =
      hasOwnUnits ? 32768 / Float(gyroscopeRange.rawValue) : BNO055Register.unitsPerDegreePerSecond
    gyroscopeScale = .pi / 180 / unitsPerDegree
    try set(BNO055Register.metricUnits, at: BNO055Register.units, BNO055Register.unitsBits)
    try set(BNO055Register.page1, at: BNO055Register.page, BNO055Register.pageBits)
    try set(
      rate.accelerometerBits << 2 | configuration.accelerometerRange.bno055Bits, at: BNO055Register.accelerometer)
    try set(
      rate.gyroscopeBits << 3 | gyroscopeRange.bno055Bits, at: BNO055Register.gyroscope, BNO055Register.gyroscopeBits)
    try set(BNO055Register.page0, at: BNO055Register.page, BNO055Register.pageBits)
    // Entering this mode takes 7 ms, plus the settling time of the filters.
    try set(
      BNO055Register.accelerometerAndGyroscope, at: BNO055Register.mode, BNO055Register.modeBits,
      taking: .milliseconds(100))
    last = nil
    failureCount = 0
    due = connection.clock.now
  }

  func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    let now = connection.clock.now
    guard now >= due else { return }
    let believed: BNO055Reading?
    do throws(HardwareError) {
      believed = try believableReading()
      failureCount = 0
    } catch {
      failureCount += 1
      guard error.isPassing, failureCount < BNO055Driver.failureLimit else { throw error }
      believed = nil
    }
    guard let reading = believed else {
      counters.misreads += 1
      hasGap = true
      batch.followsGap = true
      return
    }
    // A controller that hangs repeats its values forever, so drop equal readings. Two real samples with the same bits
    // are possible, but dropping one of them does no harm.
    if reading == last || reading.isEmpty { return }
    last = reading
    due = max(due + rate.period, now)
    batch.append(
      IMUSample(
        at: connection.measuredAt(rateHz: rate.accelerometerHertz),
        gyroscope: SIMD3<Float>(reading.gyroscope) * gyroscopeScale,
        accelerometer: SIMD3<Float>(reading.accelerometer) * accelerometerScale))
    batch.followsGap = hasGap
    hasGap = false
    counters.samples += 1
    samplesUntilTemperature -= 1
    if samplesUntilTemperature < 0 {
      samplesUntilTemperature = BNO055Driver.temperatureInterval
      // The sample is valid without the temperature.
      if let degrees = believableTemperature() { temperatureCelsius = degrees }
    }
    batch.temperatureCelsius = temperatureCelsius
  }

  func stop() {
    // A failed start may have left the other page selected.
    try? persist { () throws(HardwareError) in try registers.write(BNO055Register.page0, to: BNO055Register.page) }
    try? persist { () throws(HardwareError) in
      try registers.write(BNO055Register.configuring, to: BNO055Register.mode)
    }
    connection.pause(.milliseconds(20))
    try? persist { () throws(HardwareError) in try registers.write(BNO055Register.suspended, to: BNO055Register.power) }
  }

  /// Puts a chip to sleep. The chip takes 19 ms to enter the mode that accepts the command, and the caller provides no
  /// clock to wait with. The function therefore repeats the command until the chip accepts it; the repetitions take
  /// longer than 19 ms.
  static func suspend(_ registers: I2CRegisters) throws(HardwareError) {
    try registers.write(BNO055Register.configuring, to: BNO055Register.mode)
    var failuresLeft = BNO055Driver.failureLimit
    for _ in 0..<200 {
      do throws(HardwareError) {
        try registers.write(BNO055Register.suspended, to: BNO055Register.power)
        let power = try registers.read(BNO055Register.power)
        if power & BNO055Register.powerBits == BNO055Register.suspended { return }
      } catch {
        failuresLeft -= 1
        guard error.isPassing, failuresLeft > 0 else { throw error }
      }
    }
  }

  /// Waits until the chip answers. The chip does not answer for up to 0.65 s after power on and after a reset.
  private func awaitChip() throws(HardwareError) {
    let end = connection.clock.now + BNO055Driver.startTime
    while true {
      do throws(HardwareError) {
        return try identify()
      } catch {
        guard error.isPassing, connection.clock.now < end else { throw error }
        connection.pause(.milliseconds(50))
      }
    }
  }

  private func identify() throws(HardwareError) {
    let chip = InertialChip.bno055
    if try chip.identity.isTrue(of: registers) { return }
    // An earlier program may have left page 1 selected, which has no identity register.
    if try registers.read(BNO055Register.page) == BNO055Register.page1 {
      try registers.write(BNO055Register.page0, to: BNO055Register.page)
    }
    try chip.identity.require(chip.title, of: registers)
  }

  /// Writes a register, and repeats the write until the register has the value.
  ///
  /// - Parameters:
  ///   - bits: the bits to compare
  ///   - time: the time that the chip needs before it has the value
  /// - Throws: `.unexpectedDevice` if the register does not keep the value
  private func set(
    _ value: UInt8, at register: UInt8, _ bits: UInt8 = 0xFF, taking time: Duration = .zero
  ) throws(HardwareError) {
    for _ in 0..<BNO055Driver.tries {
      try persist { () throws(HardwareError) in try registers.write(value, to: register) }
      if time > .zero { connection.pause(time) }
      let found = try persist { () throws(HardwareError) -> UInt8 in try registers.read(register) }
      if found & bits == value { return }
    }
    throw .unexpectedDevice(
      "the BNO055 at 0x\(String(registers.address, radix: 16)) on \(registers.bus.name) does not keep values written "
        + "to its register 0x\(String(register, radix: 16)); a bus without clock stretching, as on a Raspberry Pi, "
        + "breaks transfers: connect the chip by i2c-gpio")
  }

  /// Reads both sensors until a reading agrees with an earlier one. Returns `nil` if none does.
  private func believableReading() throws(HardwareError) -> BNO055Reading? {
    var earlier: BNO055Reading?
    for _ in 0..<BNO055Driver.tries {
      let reading = BNO055Reading(
        accelerometer: try axes(BNO055Register.accelerometerData), gyroscope: try axes(BNO055Register.gyroscopeData))
      let isInRange =
        reading.accelerometer.max() <= accelerometerLimit && reading.accelerometer.min() >= -accelerometerLimit
      guard isInRange else { continue }
      if let last, reading.isClose(to: last) { return reading }
      if let earlier, reading.isClose(to: earlier) { return reading }
      earlier = reading
    }
    return nil
  }

  /// Reads the temperature in degrees Celsius until a reading agrees with an earlier one. Returns `nil` if none does.
  private func believableTemperature() -> Float? {
    var earlier = temperatureCelsius
    for _ in 0..<BNO055Driver.tries {
      let byte = try? persist { () throws(HardwareError) -> UInt8 in try registers.read(BNO055Register.temperature) }
      guard let byte else { continue }
      let degrees = Float(Int8(bitPattern: byte))
      if let earlier, abs(degrees - earlier) <= BNO055Driver.temperatureStep { return degrees }
      earlier = degrees
    }
    return nil
  }

  private func axes(_ register: UInt8) throws(HardwareError) -> SIMD3<Int16> {
    try persist { () throws(HardwareError) -> SIMD3<Int16> in
      let bytes = try registers.read(register, count: BNO055Driver.axesLength)
      return SIMD3(bytes.littleEndian(at: 0), bytes.littleEndian(at: 2), bytes.littleEndian(at: 4))
    }
  }

  /// Repeats a transfer that may have failed because of clock stretching.
  private func persist<Value>(_ transfer: () throws(HardwareError) -> Value) throws(HardwareError) -> Value {
    for _ in 1..<BNO055Driver.tries {
      do throws(HardwareError) {
        return try transfer()
      } catch {
        guard error.isPassing else { throw error }
        // The chip may still hold the clock.
        connection.pause(.milliseconds(1))
      }
    }
    return try transfer()
  }
}

extension HardwareError {
  /// Whether a transfer that the bus damaged may have caused the error.
  fileprivate var isPassing: Bool {
    switch self {
    case .noAcknowledge, .arbitrationLost, .timedOut, .system: true
    default: false
    }
  }
}

extension InertialConfiguration.AccelerometerRange {
  fileprivate var bno055Bits: UInt8 {
    switch self {
    case .g2: 0x00
    case .g4: 0x01
    case .g8: 0x02
    case .g16: 0x03
    }
  }
}

extension InertialConfiguration.GyroscopeRange {
  fileprivate var bno055Bits: UInt8 {
    switch self {
    case .dps250: 0x03
    case .dps500: 0x02
    case .dps1000: 0x01
    case .dps2000: 0x00
    }
  }
}
