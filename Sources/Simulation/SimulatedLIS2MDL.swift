import MonotonicTime

public typealias SimulatedLIS2MDL = SimulatedRegisterChip<LIS2MDLRegisters>

/// The registers of a LIS2MDL: its rates and modes, the flags for new data, and its left-handed axes.
public struct LIS2MDLRegisters: SimulatedRegisters {
  public static let usualAddress: UInt8 = 0x1E

  private var registers = LIS2MDLRegisters.resetRegisters
  private var measurements = SimulatedMeasurements()
  /// When a single measurement will be complete.
  private var singleAt: MonotonicInstant?
  private var noise = Noise(seed: 2)

  public init() {}

  private enum Register {
    static let whoAmI = 0x4F
    static let configurationA = 0x60
    static let status = 0x67
    static let output = 0x68
  }

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Register.whoAmI] = 0x40
    registers[Register.configurationA] = 0x03
    return registers
  }()

  public static func next(_ register: UInt8) -> UInt8 { register &+ 1 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    let register = Int(register & 0x7F)
    // Only these registers are writable: the hard-iron offsets, the configuration and the interrupt settings.
    guard (0x45...0x4A).contains(register) || [0x60, 0x61, 0x62, 0x63, 0x65, 0x66].contains(register) else { return }
    if register == Register.configurationA, value & 0x20 != 0 { return self = LIS2MDLRegisters() }
    registers[register] = value
    guard register == Register.configurationA else { return }
    // The reboot of the memory completes immediately.
    registers[register] &= ~0x40
    measurements.begin(at: value & 0x03 == 0 ? now : nil)
    singleAt = value & 0x03 == 1 ? now + .milliseconds(10) : nil
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    guard let at = complete(by: now) else { return }
    // The noise is typically 4.5 mG without the filter. A unit is 1.5 mG.
    let field = (world.truth(at: at).magneticField + noise.vector(0.45 * world.noiseScale)) / 0.15
    var bytes: [UInt8] = []
    bytes.append(lowByteFirst: .units(SIMD3(field.x, field.y, -field.z)))
    registers.replaceSubrange(Register.output..<Register.output + 6, with: bytes)
    // The overrun flags are set if the previous measurement was not read.
    registers[Register.status] = registers[Register.status] == 0 ? 0x0F : 0xFF
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register & 0x7F)
    // Reading the last byte clears the flags for new data.
    if register == Register.output + 5 { registers[Register.status] = 0 }
    return registers[register]
  }

  /// When the latest measurement was complete, if it has not been stored yet.
  private mutating func complete(by now: MonotonicInstant) -> MonotonicInstant? {
    if let single = singleAt {
      guard now >= single else { return nil }
      singleAt = nil
      registers[Register.configurationA] |= 0x03
      return single
    }
    let rate = [10.0, 20, 50, 100][Int(registers[Register.configurationA] >> 2 & 0x03)]
    return measurements.next(by: now, period: Int64(1e9 / rate))
  }
}
