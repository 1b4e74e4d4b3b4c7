import HardwareIO
import MonotonicTime

/// Driver of the BMI088, whose gyroscope and accelerometer have no common clock. Each sample is a gyroscope sample
/// with the specific force at the same time, interpolated between two samples of the accelerometer. The newest sample
/// of a burst may therefore be delivered only with the next burst.
final class BMI088Driver: InertialDriver {
  static let fifoSampleCount = 100

  /// The length of a frame: three axes of two bytes.
  private static let frameLength = 6
  private static let identity = ChipIdentity(
    register: BMI088GyroscopeRegister.chipID, values: [BMI088GyroscopeRegister.identity])

  var counters: InertialCounters {
    var counters = readout.counters
    // Count only delivered samples, not samples that wait for the accelerometer or were lost.
    counters.samples = sampleCount
    return counters
  }

  private let gyroscope: I2CRegisters
  private let connection: ChipConnection
  private let configuration: InertialConfiguration
  private let rate: BMI088Rate
  private let scale: Float
  private var readout: FIFOReadout
  private var accelerometer: BMI088Accelerometer?
  /// The gyroscope's samples of one reading.
  private var rates = IMUBatch()
  /// The samples for which the accelerometer has no value yet, oldest first.
  private var waiting: [IMUSample] = []
  /// The number of delivered samples.
  private var sampleCount = 0
  /// Whether samples were lost since the last batch that was not empty.
  private var hasGap = false
  private var temperatureCelsius: Float?

  init(_ connection: ChipConnection, _ configuration: InertialConfiguration) {
    self.connection = connection
    self.configuration = configuration
    gyroscope = I2CRegisters(
      connection.bus, address: connection.address, capacity: IMUBatch.capacity * BMI088Driver.frameLength)
    rate = BMI088Rate(nearest: configuration.rateHz)
    readout = FIFOReadout(connection, rateHz: rate.hertz)
    scale = Float(configuration.gyroscopeRange.rawValue) * .pi / 180 / 32768
    waiting.reserveCapacity(2 * IMUBatch.capacity)
  }

  func start() throws(HardwareError) {
    try BMI088Driver.identity.require(InertialChip.bmi088.title, of: gyroscope)
    try findAccelerometer()
    try accelerometer?.start(pause: connection.pause)
    do throws(HardwareError) {
      try gyroscope.write(BMI088GyroscopeRegister.reset, to: BMI088GyroscopeRegister.softReset)
    } catch .noAcknowledge {
      // The error is expected: the gyroscope may reset before it can acknowledge the command.
    }
    connection.pause(.milliseconds(30))
    try gyroscope.write(configuration.gyroscopeRange.bmi088Bits, to: BMI088GyroscopeRegister.range)
    try gyroscope.write(rate.gyroscopeBits, to: BMI088GyroscopeRegister.bandwidth)
    if connection.dataReady != nil {
      try gyroscope.write(BMI088GyroscopeRegister.interrupt3High, to: BMI088GyroscopeRegister.interruptOutput)
      try gyroscope.write(BMI088GyroscopeRegister.dataReadyOnInterrupt3, to: BMI088GyroscopeRegister.interruptMap)
      try gyroscope.write(BMI088GyroscopeRegister.dataReady, to: BMI088GyroscopeRegister.interruptControl)
    }
    // This pause covers the start-up time of the gyroscope and the settling time of its filters.
    connection.pause(.milliseconds(80))
    try restartFIFOs()
  }

  func read(into batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    rates.removeAll()
    let status = try readout.look { () throws(HardwareError) in
      try gyroscope.read(BMI088GyroscopeRegister.fifoStatus)
    }
    let inFIFO = Int(status & BMI088GyroscopeRegister.countBits)
    // A full FIFO accepts no more samples, so the number of lost samples is unknown.
    if status & BMI088GyroscopeRegister.overrun != 0 || inFIFO >= BMI088Driver.fifoSampleCount {
      return try startOver(.overflow, &batch)
    }
    let count = min(inFIFO, IMUBatch.capacity)
    if count > 0 {
      do throws(HardwareError) {
        try takeRates(count, left: inFIFO - count)
      } catch .arbitrationLost {
        return try startOver(.misread, &batch)
      }
    }
    switch try accelerometer?.read(connection.clock) {
    case .complete, nil: break
    case .overflow: return try startOver(.overflow, &batch)
    case .misread: return try startOver(.misread, &batch)
    }
    join(into: &batch)
    // More samples than fit into a batch wait only if the accelerometer has stopped sending.
    if waiting.count > IMUBatch.capacity { return try startOver(.misread, &batch) }
    guard batch.count > 0 else { return }
    sampleCount += batch.count
    batch.followsGap = hasGap
    hasGap = false
    batch.temperatureCelsius = temperatureCelsius
  }

  func stop() {
    try? gyroscope.write(BMI088GyroscopeRegister.suspended, to: BMI088GyroscopeRegister.power)
    try? accelerometer?.sleep()
  }

  /// Returns whether the gyroscope is part of a BMI088, which is the case if a BMI088 accelerometer is on the same bus.
  static func isWhole(_ gyroscope: I2CRegisters) throws(HardwareError) -> Bool {
    guard try gyroscope.read(BMI088GyroscopeRegister.chipID) == BMI088GyroscopeRegister.identity else { return false }
    do throws(HardwareError) {
      return try BMI088Accelerometer.find(beside: gyroscope, capacity: 1) != nil
    } catch .busy {
      return false
    }
  }

  /// Finds the accelerometer, and reserves its address too.
  private func findAccelerometer() throws(HardwareError) {
    guard
      let registers = try BMI088Accelerometer.find(beside: gyroscope, capacity: BMI088Accelerometer.fifoSize)
    else {
      throw .unexpectedDevice(
        "the BMI088 at 0x\(String(gyroscope.address, radix: 16)) on \(gyroscope.bus.name) has no accelerometer, "
          + "which would be at 0x18 or 0x19")
    }
    try registers.bus.claim(registers.address)
    accelerometer = BMI088Accelerometer(registers, rate, configuration.accelerometerRange)
  }

  /// Reads samples from the gyroscope's FIFO, gives them timestamps, and queues them.
  ///
  /// - Parameter left: the number of samples that remain in the FIFO for lack of room
  private func takeRates(_ count: Int, left: Int) throws(HardwareError) {
    let bytes = try gyroscope.readPort(
      BMI088GyroscopeRegister.fifoData, count: count * BMI088Driver.frameLength, unit: BMI088Driver.frameLength)
    for offset in stride(from: 0, to: bytes.count, by: BMI088Driver.frameLength) {
      func axis(_ number: Int) -> Float { bytes.littleEndian(at: offset + 2 * number).measured }
      rates.append(gyroscope: SIMD3(axis(0), axis(1), axis(2)) * scale, accelerometer: .zero)
    }
    try readout.complete(&rates, left: left) { () throws(HardwareError) in
      temperatureCelsius = try accelerometer?.temperature()
      return temperatureCelsius ?? 0
    }
    if rates.followsGap { hasGap = true }
    for index in 0..<rates.count { waiting.append(rates[index]) }
  }

  /// Moves each waiting sample whose specific force is known to the batch.
  private func join(into batch: inout IMUBatch) {
    var done = 0
    joining: while done < waiting.count, batch.count < IMUBatch.capacity {
      switch accelerometer?.answer(at: waiting[done].at) {
      case .notYet, nil: break joining
      // Before the first delivered sample, the accelerometer may have started later than the gyroscope. After the
      // first one, a missing value is a gap.
      case .never: hasGap = hasGap || sampleCount > 0
      case .force(let force):
        batch.append(IMUSample(at: waiting[done].at, gyroscope: waiting[done].gyroscope, accelerometer: force))
      }
      done += 1
    }
    waiting.removeSubrange(..<done)
  }

  private func startOver(_ loss: FIFOReadout.Loss, _ batch: inout IMUBatch) throws(HardwareError) {
    batch.removeAll()
    readout.lose(loss, &batch)
    try restartFIFOs()
  }

  /// Restarts both FIFOs together, so that their first samples have nearly the same time.
  private func restartFIFOs() throws(HardwareError) {
    waiting.removeAll(keepingCapacity: true)
    try accelerometer?.restart()
    try gyroscope.write(BMI088GyroscopeRegister.fifoOff, to: BMI088GyroscopeRegister.fifoConfiguration1)
    try gyroscope.write(BMI088GyroscopeRegister.fifoUntilFull, to: BMI088GyroscopeRegister.fifoConfiguration1)
  }
}

extension InertialConfiguration.GyroscopeRange {
  fileprivate var bmi088Bits: UInt8 {
    switch self {
    case .dps250: 0x03
    case .dps500: 0x02
    case .dps1000: 0x01
    case .dps2000: 0x00
    }
  }
}

/// A rate of the gyroscope, and the matching rate of the accelerometer. The accelerometer is not faster than the
/// gyroscope, so that the accelerometer's FIFO does not fill earlier.
struct BMI088Rate {
  private static let all = [
    BMI088Rate(hertz: 100, gyroscopeBits: 0x07, accelerometerHertz: 100, accelerometerBits: 0x08),
    BMI088Rate(hertz: 200, gyroscopeBits: 0x06, accelerometerHertz: 200, accelerometerBits: 0x09),
    BMI088Rate(hertz: 400, gyroscopeBits: 0x03, accelerometerHertz: 400, accelerometerBits: 0x0A),
    BMI088Rate(hertz: 1000, gyroscopeBits: 0x02, accelerometerHertz: 800, accelerometerBits: 0x0B),
    BMI088Rate(hertz: 2000, gyroscopeBits: 0x01, accelerometerHertz: 1600, accelerometerBits: 0x0C),
  ]

  let hertz: Double
  /// The value for GYRO_BANDWIDTH. The filters of the five rates are 32, 64, 47, 116 and 230 Hz wide.
  let gyroscopeBits: UInt8
  let accelerometerHertz: Double
  /// The rate bits of ACC_CONF.
  let accelerometerBits: UInt8
}

extension BMI088Rate {
  init(nearest requested: Double) { self = BMI088Rate.all[BMI088Rate.all.map(\.hertz).slowestRate(for: requested)] }
}

extension InertialChip {
  /// The entry lists the gyroscope's addresses. The driver searches for the accelerometer itself.
  static var bmi088: InertialChip {
    InertialChip(
      name: "bmi088", title: "BMI088", addresses: [0x68, 0x69],
      // The gyroscope's identity is not enough, because other packages contain the same gyroscope.
      identity: ChipIdentity(register: BMI088GyroscopeRegister.chipID, toldBy: "its gyroscope and accelerometer") {
        (registers) throws(HardwareError) in try BMI088Driver.isWhole(registers)
      },
      provenAgainst: "Linux (bmi088-accel, bmg160)",
      // This is the length of the gyroscope's FIFO. The accelerometer's FIFO is longer.
      fifoSampleCount: BMI088Driver.fifoSampleCount,
      // A sample has 6 bytes of the gyroscope, and at most 7 of the accelerometer, whose rate is not higher.
      readout: BusReadout(bytesPerSample: 13, bytesPerBurst: 3, readsPerBurst: 4),
      // The currents are from the electrical specifications: both sensors in normal mode, and suspended.
      milliamperes: 5.15, sleepMilliamperes: 0.028, ratesHz: 100...2000,
      actualRate: { BMI088Rate(nearest: $0).hertz },
      makeDriver: { BMI088Driver($0, $1) },
      putToSleep: { (registers) throws(HardwareError) in
        try registers.write(BMI088GyroscopeRegister.suspended, to: BMI088GyroscopeRegister.power)
        guard let other = try BMI088Accelerometer.find(beside: registers, capacity: 1) else { return }
        try other.bus.claim(other.address)
        try BMI088Accelerometer.sleep(other)
      })
  }
}
