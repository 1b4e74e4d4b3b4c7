import MonotonicTime

public typealias SimulatedLIS3MDL = SimulatedRegisterChip<LIS3MDLRegisters<LIS3MDL>>
public typealias SimulatedLSM9DS1Magnetometer = SimulatedRegisterChip<LIS3MDLRegisters<LSM9DS1Magnetometer>>

/// The differences between the magnetometer of an LSM9DS1 and a LIS3MDL.
public protocol LIS3MDLKind {
  static var usualAddress: UInt8 { get }
  /// The signs of the chip's axes relative to the body's.
  static var axes: SIMD3<Double> { get }
}

public enum LIS3MDL: LIS3MDLKind {
  public static let usualAddress: UInt8 = 0x1C
  public static let axes = SIMD3<Double>(1, 1, 1)
}

public enum LSM9DS1Magnetometer: LIS3MDLKind {
  public static let usualAddress: UInt8 = 0x1E
  // The body's x and y are those of the inertial part, and its z is opposite. The magnetometer's x is opposite to the
  // inertial part's x, and its y and z are equal.
  public static let axes = SIMD3<Double>(-1, 1, -1)
}

private enum Register {
  static let whoAmI = 0x0F
  static let control1 = 0x20
  static let control2 = 0x21
  static let control3 = 0x22
  static let status = 0x27
  static let output = 0x28
}

/// The registers of a LIS3MDL: its rates and ranges, the flags for new data, and reads that advance to the next
/// register only if requested.
public struct LIS3MDLRegisters<Kind: LIS3MDLKind>: SimulatedRegisters {
  public static var usualAddress: UInt8 { Kind.usualAddress }

  private var registers = LIS3MDLRegisters.resetRegisters
  private var measurements = SimulatedMeasurements()
  private var noise = Noise(seed: 3)

  public init() {}

  private static var resetRegisters: [UInt8] {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Register.whoAmI] = 0x3D
    registers[Register.control1] = 0x10
    registers[Register.control3] = 0x03
    return registers
  }

  public static func next(_ register: UInt8) -> UInt8 {
    register & 0x80 == 0 ? register : 0x80 | (register &+ 1)
  }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    let register = Int(register & 0x7F)
    guard (0x05...0x0A).contains(register) || (0x20...0x24).contains(register) || (0x30...0x33).contains(register)
    else { return }
    if register == Register.control2, value & 0x0C != 0 { return self = LIS3MDLRegisters() }
    registers[register] = value
    if register == Register.control3 { measurements.begin(at: value & 0x03 == 0 ? now : nil) }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    let rate = 0.625 * Double(1 << Int(registers[Register.control1] >> 2 & 0x07))
    guard let at = measurements.next(by: now, period: Int64(1e9 / rate)) else { return }
    let unitsPerGauss: [Double] = [6842, 3421, 2281, 1711]
    let scale = unitsPerGauss[Int(registers[Register.control2] >> 5 & 0x03)] / 100
    // The noise is typically 3.2 mG on x and y.
    let field = (world.truth(at: at).magneticField + noise.vector(0.32 * world.noiseScale)) * Kind.axes * scale
    registers.store(lowByteFirst: .units(field), at: UInt8(Register.output))
    registers[Register.status] |= 0x0F
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register & 0x7F)
    // Reading the last byte clears the flags for new data.
    if register == Register.output + 5 { registers[Register.status] = 0 }
    return registers[register]
  }
}
