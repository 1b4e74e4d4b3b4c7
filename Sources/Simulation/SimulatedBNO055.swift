import MonotonicTime

public typealias SimulatedBNO055 = SimulatedRegisterChip<BNO055Registers>

/// The registers of a BNO055: pages, modes that take time to change, configuration that can be written in only one
/// mode, units, and a reset during which the chip does not answer. The fusion does not compute anything, and the
/// magnetometer does not measure.
///
/// The firmware is version 3.11, with which the chips are delivered. Outside the fusion modes, its gyroscope always
/// uses the units of its range, regardless of the unit setting.
public struct BNO055Registers: SimulatedRegisters {
  public static let usualAddress: UInt8 = 0x28

  private var pages = BNO055Registers.resetPages
  private var page = 0
  // Noise from the data sheet: 0.1 °/s, and 150 µg/√Hz at a bandwidth of about 60 Hz.
  private var inertia = SimulatedInertia(seed: 55, ratesSigma: 0.1 * .pi / 180, forceSigma: 0.012)
  private var rates = SimulatedMeasurements()
  private var force = SimulatedMeasurements()
  /// When the chip answers again, after a reset or a change of its mode.
  private var busyUntil: MonotonicInstant?
  private var isResetting = false

  public init() {}

  private enum Register {
    static let page = 0x07

    // Page 0
    static let force = 0x08
    static let rates = 0x14
    static let temperature = 0x34
    static let calibrationStatus = 0x35
    static let units = 0x3B
    static let mode = 0x3D
    static let power = 0x3E
    static let trigger = 0x3F
    static let calibration = 0x55...0x6A

    // Page 1
    static let accelerometer = 0x08
    static let gyroscope = 0x0A
    static let uniqueID = 0x50
  }

  private static let resetPages: [[UInt8]] = {
    var pages = [[UInt8]](repeating: [UInt8](repeating: 0, count: 128), count: 2)
    // The identification of the chip and its sensors, and the versions: firmware 3.11, bootloader 0.21.
    pages[0].replaceSubrange(0..<7, with: [0xA0, 0xFB, 0x32, 0x0F, 0x11, 0x03, 0x15])
    // All four self-tests passed.
    pages[0][0x36] = 0x0F
    pages[0][Register.units] = 0x80
    pages[0][0x40] = 0x02
    pages[0][0x41] = 0x24
    pages[1][Register.page] = 1
    pages[1][Register.accelerometer] = 0x0D
    pages[1][0x09] = 0x0B
    pages[1][Register.gyroscope] = 0x38
    for index in 0..<16 { pages[1][Register.uniqueID + index] = UInt8(0x50 + index) }
    return pages
  }()

  public static func next(_ register: UInt8) -> UInt8 { register &+ 1 }

  private var mode: UInt8 { pages[0][Register.mode] }
  private var isFusing: Bool { mode >= 0x08 }
  private var isAwake: Bool { pages[0][Register.power] != 0x02 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    let register = Int(register)
    let isBusy = isBusy(at: now)
    if isResetting { return }
    // These registers can be written in any mode.
    switch (page, register) {
    case (_, Register.page): return page = Int(value & 0x01)
    case (0, Register.mode):
      guard !isBusy, isAwake, value & 0x0F != mode else { return }
      pages[0][Register.mode] = value & 0x0F
      // Entering configuration mode takes 19 ms. Entering any other mode takes 7 ms.
      let readyAt = now + .milliseconds(mode == 0 ? 19 : 7)
      busyUntil = readyAt
      return begin(at: readyAt)
    case (0, Register.trigger) where value & 0x20 != 0:
      guard isAwake else { return }
      self = BNO055Registers()
      isResetting = true
      busyUntil = now + .milliseconds(650)
      return
    default: break
    }
    guard !isBusy, mode == 0 else { return }
    switch (page, register) {
    case (0, Register.units), (0, 0x40...0x42), (0, Register.calibration), (0, Register.trigger),
      (1, 0x08...0x0D), (1, 0x0F...0x1F):
      pages[page][register] = value
    case (0, Register.power): pages[0][register] = value & 0x03
    default: break
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    guard !isResetting, register < 128 else { return 0 }
    return Int(register) == Register.page ? UInt8(page) : pages[page][Int(register)]
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    guard !isBusy(at: now), mode != 0, isAwake else { return }
    let rangeDegrees = Double(2000 >> Int(pages[1][Register.gyroscope] & 0x07))
    let isInRadians = pages[0][Register.units] & 0x02 != 0
    let degreesPerUnit = isFusing ? (isInRadians ? 180 / .pi / 900 : 1.0 / 16) : rangeDegrees / 32768
    let isInGravities = pages[0][Register.units] & 0x01 != 0
    let gravitiesPerUnit = isInGravities ? 0.001 : 0.01 / 9.80665
    if hasGyroscope, let at = rates.next(by: now, period: gyroscopePeriod) {
      let raw = inertia.raw(
        world.truth(at: at), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
      pages[0].store(lowByteFirst: raw.gyroscope, at: UInt8(Register.rates))
    }
    if hasAccelerometer, let at = force.next(by: now, period: accelerometerPeriod) {
      let raw = inertia.raw(
        world.truth(at: at), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
      // The force is limited to the range, which is 4 g in fusion modes.
      let gravities = isFusing ? 4 : Double(2 << Int(pages[1][Register.accelerometer] & 0x03))
      let end = Int16(gravities / gravitiesPerUnit)
      let units = raw.accelerometer.clamped(
        lowerBound: SIMD3(repeating: -end), upperBound: SIMD3(repeating: end))
      pages[0].store(lowByteFirst: units, at: UInt8(Register.force))
    }
    pages[0][Register.temperature] = UInt8(truncatingIfNeeded: Int(world.temperatureCelsius.rounded()))
  }

  private mutating func isBusy(at now: MonotonicInstant) -> Bool {
    if let busyUntil, now < busyUntil { return true }
    busyUntil = nil
    isResetting = false
    return false
  }

  /// Clears the data registers and starts measuring, except in configuration mode, in which the registers stay zero.
  private mutating func begin(at start: MonotonicInstant) {
    for register in Register.force..<Register.calibrationStatus { pages[0][register] = 0 }
    rates.begin(at: mode == 0 ? nil : start)
    force.begin(at: mode == 0 ? nil : start)
  }

  private var hasAccelerometer: Bool { isFusing || [0x01, 0x04, 0x05, 0x07].contains(mode) }
  private var hasGyroscope: Bool {
    // Two of the fusion modes, COMPASS and M4G, do not use the gyroscope.
    isFusing ? mode != 0x09 && mode != 0x0A : [0x03, 0x05, 0x06, 0x07].contains(mode)
  }

  /// The sampling period in nanoseconds.
  private var accelerometerPeriod: Int64 {
    if isFusing { return 10_000_000 }
    // The rate is twice the bandwidth, which starts at 7.81 Hz.
    return 64_000_000 >> Int64(pages[1][Register.accelerometer] >> 2 & 0x07)
  }

  private var gyroscopePeriod: Int64 {
    let rates: [Int64] = [2000, 2000, 1000, 400, 200, 100, 200, 100]
    return isFusing ? 10_000_000 : 1_000_000_000 / rates[Int(pages[1][Register.gyroscope] >> 3 & 0x07)]
  }
}
