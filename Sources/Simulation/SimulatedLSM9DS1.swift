import MonotonicTime

public typealias SimulatedLSM9DS1 = SimulatedRegisterChip<LSM9DS1Registers>

/// The registers of an LSM9DS1's inertial part: power-down, rates, ranges, left-handed axes, and the FIFO, which is
/// read through the output registers of both sensors.
public struct LSM9DS1Registers: SimulatedRegisters {
  private static let fifoLimit = 32

  public static let usualAddress: UInt8 = 0x6B

  private var registers = LSM9DS1Registers.resetRegisters
  // The data sheet gives no noise. These values are similar to the noise of its successors.
  private var inertia = SimulatedInertia(seed: 91, ratesSigma: 0.07 * .pi / 180, forceSigma: 0.01)
  /// The FIFO of each sensor, oldest sample first.
  private var rates: [SIMD3<Int16>] = []
  private var force: [SIMD3<Int16>] = []
  private var hasOverrun = false

  public init() {}

  private enum Register {
    static let whoAmI = 0x0F
    static let control1 = 0x10
    static let temperature = 0x15
    static let status = 0x17
    static let rates = 0x18
    static let control6 = 0x20
    static let control8 = 0x22
    static let control9 = 0x23
    static let otherStatus = 0x27
    static let force = 0x28
    static let fifoControl = 0x2E
    static let fifoSource = 0x2F
  }

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Register.whoAmI] = 0x68
    registers[0x1E] = 0x38
    registers[0x1F] = 0x38
    registers[Register.control8] = 0x04
    return registers
  }()

  /// Reads continue with the next register, which is the default after a reset.
  public static func next(_ register: UInt8) -> UInt8 { register &+ 1 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    let register = Int(register)
    switch register {
    case 0x04...0x0D, 0x11...0x13, 0x1E, 0x1F, 0x21, 0x24, 0x30...0x37: registers[register] = value
    case Register.control8:
      if value & 0x01 != 0 { return self = LSM9DS1Registers() }
      // The reboot of the trim changes nothing and completes immediately.
      registers[register] = value & 0x7F
    case Register.control1, Register.control6, Register.control9, Register.fifoControl:
      registers[register] = value
      if registers[Register.fifoControl] >> 5 == 0 { (rates, force, hasOverrun) = ([], [], false) }
      inertia.begin(at: isFIFOOn ? now : nil)
    default: break
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register)
    guard register < 128 else { return 0 }
    switch register {
    case Register.fifoSource: return (hasOverrun ? 0x40 : 0) | UInt8(max(rates.count, force.count))
    case Register.rates..<Register.rates + 6:
      guard let oldest = rates.first else { return registers[register] }
      if register == Register.rates + 5 {
        rates.removeFirst()
        hasOverrun = false
      }
      return LSM9DS1Registers.byte(register - Register.rates, of: oldest)
    case Register.force..<Register.force + 6:
      guard let oldest = force.first else { return registers[register] }
      if register == Register.force + 5 {
        force.removeFirst()
        hasOverrun = false
      }
      return LSM9DS1Registers.byte(register - Register.force, of: oldest)
    default: return registers[register]
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    let hasRates = registers[Register.control1] >> 5 != 0
    // The accelerometer is also on while the gyroscope is.
    let hasForce = hasRates || registers[Register.control6] >> 5 != 0
    // Use a copy, because the closure below changes it while `self` is in use.
    var inertia = inertia
    defer { self.inertia = inertia }
    let latest = sample(world, at: now, &inertia)
    if hasRates { registers.store(lowByteFirst: latest.gyroscope, at: UInt8(Register.rates)) }
    if hasForce { registers.store(lowByteFirst: latest.accelerometer, at: UInt8(Register.force)) }
    if hasForce {
      let temperature = Int((world.temperatureCelsius - 25) * 16)
      registers[Register.temperature] = UInt8(truncatingIfNeeded: temperature)
      registers[Register.temperature + 1] = UInt8(truncatingIfNeeded: temperature >> 8)
    }
    registers[Register.status] = (hasForce ? 0x05 : 0) | (hasRates ? 0x02 : 0)
    registers[Register.otherStatus] = registers[Register.status]
    guard let period else { return }
    var (newRates, newForce): ([SIMD3<Int16>], [SIMD3<Int16>]) = ([], [])
    let lost = inertia.takeDue(at: now, period: period, limit: LSM9DS1Registers.fifoLimit) { _, instant, inertia in
      let raw = sample(world, at: instant, &inertia)
      newRates.append(raw.gyroscope)
      newForce.append(raw.accelerometer)
    }
    rates += newRates
    force += newForce
    let excess = max(rates.count, force.count) - LSM9DS1Registers.fifoLimit
    if lost > 0 || excess > 0 { hasOverrun = true }
    rates.removeFirst(max(0, rates.count - LSM9DS1Registers.fifoLimit))
    force.removeFirst(max(0, force.count - LSM9DS1Registers.fifoLimit))
  }

  /// One sample of both sensors, in their left-handed axes.
  private func sample(
    _ world: World, at instant: MonotonicInstant, _ inertia: inout SimulatedInertia
  ) -> (gyroscope: SIMD3<Int16>, accelerometer: SIMD3<Int16>) {
    let degreesPerUnit = [8.75e-3, 17.5e-3, 17.5e-3, 70e-3][Int(registers[Register.control1] >> 3 & 3)]
    let gravitiesPerUnit = [0.061e-3, 0.732e-3, 0.122e-3, 0.244e-3][Int(registers[Register.control6] >> 3 & 3)]
    let raw = inertia.raw(
      world.truth(at: instant), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
    let axes = SIMD3<Int16>(1, 1, -1)
    return (raw.gyroscope &* axes, raw.accelerometer &* axes)
  }

  private static func byte(_ number: Int, of axes: SIMD3<Int16>) -> UInt8 {
    UInt8(truncatingIfNeeded: number & 1 == 0 ? axes[number / 2] : axes[number / 2] >> 8)
  }

  private var isFIFOOn: Bool {
    registers[Register.control9] & 0x02 != 0 && registers[Register.fifoControl] >> 5 == 0x06
  }

  /// The sampling period in nanoseconds; `nil` unless both sensors write to the FIFO.
  private var period: Int64? {
    let rates = [14.9, 59.5, 119, 238, 476, 952]
    let code = Int(registers[Register.control1] >> 5) - 1
    return isFIFOOn && rates.indices.contains(code) ? Int64(1e9 / rates[code]) : nil
  }
}
