import MonotonicTime

public typealias SimulatedQMC5883L = SimulatedRegisterChip<QMC5883LRegisters>

/// The registers of a QMC5883L: its rates and ranges, the flags for new, overflowed and skipped data, and the lock
/// that a partial read places on the data.
public struct QMC5883LRegisters: SimulatedRegisters {
  public static let usualAddress: UInt8 = 0x0D

  private var registers = QMC5883LRegisters.resetRegisters
  private var measurements = SimulatedMeasurements()
  /// Whether a measurement is being read, from its first to its last byte.
  private var isLocked = false
  private var noise = Noise(seed: 13)

  public init() {}

  private enum Register {
    static let output = 0x00..<0x06
    static let status = 0x06
    static let control1 = 0x09
    static let control2 = 0x0A
    static let period = 0x0B
  }

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 16)
    registers[0x0C] = 0x01
    registers[0x0D] = 0xFF
    return registers
  }()

  public static func next(_ register: UInt8) -> UInt8 { register &+ 1 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    switch Int(register) {
    case Register.control2 where value & 0x80 != 0: self = QMC5883LRegisters()
    case Register.control1:
      registers[Register.control1] = value
      measurements.begin(at: value & 0x03 == 1 ? now : nil)
    case Register.control2, Register.period: registers[Int(register)] = value
    default: break
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    let control = registers[Register.control1]
    let rate = [10.0, 50, 100, 200][Int(control >> 2 & 0x03)]
    guard let at = measurements.next(by: now, period: Int64(1e9 / rate)), !isLocked else { return }
    let unitsPerMicrotesla = control >> 4 & 0x03 == 0 ? 120.0 : 30
    // The noise is 2 mG.
    let field = (world.truth(at: at).magneticField + noise.vector(0.2 * world.noiseScale)) * unitsPerMicrotesla
    var bytes: [UInt8] = []
    bytes.append(lowByteFirst: .units(field))
    registers.replaceSubrange(Register.output, with: bytes)
    let isTooMuch = field.max() > 32767 || field.min() < -32768
    let isSkipped = registers[Register.status] & 0x01 != 0
    registers[Register.status] = 0x01 | (isTooMuch ? 0x02 : 0) | (isSkipped ? 0x04 : 0)
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register)
    guard registers.indices.contains(register) else { return 0 }
    if Register.output.contains(register) {
      // Reading any data byte clears the flags for new data.
      registers[Register.status] &= ~0x05
      isLocked = register != Register.output.upperBound - 1
    }
    return registers[register]
  }
}
