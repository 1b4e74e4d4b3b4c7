import MonotonicTime

public typealias SimulatedQMC5883P = SimulatedRegisterChip<QMC5883PRegisters>

/// The registers of a QMC5883P: its modes, rates and ranges, the signs of its axes, and the flags for new and
/// overflowed data.
public struct QMC5883PRegisters: SimulatedRegisters {
  public static let usualAddress: UInt8 = 0x2C

  private var registers = QMC5883PRegisters.resetRegisters
  private var measurements = SimulatedMeasurements()
  /// When a single measurement will be complete.
  private var singleAt: MonotonicInstant?
  private var noise = Noise(seed: 44)

  public init() {}

  private enum Register {
    static let output = 0x01..<0x07
    static let status = 0x09
    static let control1 = 0x0A
    static let control2 = 0x0B
    static let signs = 0x29
  }

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 64)
    registers[0x00] = 0x80
    return registers
  }()

  public static func next(_ register: UInt8) -> UInt8 { register &+ 1 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    switch Int(register) {
    case Register.control2 where value & 0x80 != 0: self = QMC5883PRegisters()
    case Register.control1:
      registers[Register.control1] = value
      let mode = value & 0x03
      measurements.begin(at: mode & 0x01 == 0 ? nil : now)
      singleAt = mode == 2 ? now + .milliseconds(5) : nil
    case Register.control2, Register.signs: registers[Int(register)] = value
    default: break
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    guard let at = complete(by: now) else { return }
    let unitsPerMicrotesla = [10.0, 25, 37.5, 150][Int(registers[Register.control2] >> 2 & 0x03)]
    // The signs of the data sheet's examples give the axes as drawn. Each bit reverses an axis.
    let turned = registers[Register.signs] ^ 0x06
    let signs = SIMD3(turned & 0x01 == 0 ? 1.0 : -1, turned & 0x02 == 0 ? 1 : -1, turned & 0x04 == 0 ? 1 : -1)
    // The noise is 2 mG.
    let field = (world.truth(at: at).magneticField + noise.vector(0.2 * world.noiseScale)) * signs * unitsPerMicrotesla
    var bytes: [UInt8] = []
    bytes.append(lowByteFirst: .units(field))
    registers.replaceSubrange(Register.output, with: bytes)
    registers[Register.status] = field.max() > 32767 || field.min() < -32768 ? 0x03 : 0x01
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register)
    guard registers.indices.contains(register) else { return 0 }
    let value = registers[register]
    // Reading the status clears the flags for new data.
    if register == Register.status { registers[register] = 0 }
    return value
  }

  /// When the latest measurement was complete, if it has not been stored yet.
  private mutating func complete(by now: MonotonicInstant) -> MonotonicInstant? {
    if let single = singleAt {
      guard now >= single else { return nil }
      singleAt = nil
      registers[Register.control1] &= ~0x03
      return single
    }
    let control = registers[Register.control1]
    // The mode called continuous ignores the rate.
    let rate = control & 0x03 == 0x03 ? 1500 : [10.0, 50, 100, 200][Int(control >> 2 & 0x03)]
    return measurements.next(by: now, period: Int64(1e9 / rate))
  }
}
