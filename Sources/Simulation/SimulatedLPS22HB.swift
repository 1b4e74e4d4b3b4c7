import MonotonicTime

public typealias SimulatedLPS22HB = SimulatedRegisterChip<LPS22HBRegisters>

/// The registers of an LPS22HB: its rates, single measurements, and the flags for new and missed data.
public struct LPS22HBRegisters: SimulatedRegisters {
  public static let usualAddress: UInt8 = 0x5C

  private var registers = LPS22HBRegisters.resetRegisters
  private var measurements = SimulatedMeasurements()
  private var noise = Noise(seed: 22)

  public init() {}

  private enum Register {
    static let whoAmI = 0x0F
    static let control1 = 0x10
    static let control2 = 0x11
    static let status = 0x27
    static let pressure = 0x28
    static let temperature = 0x2B
  }

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Register.whoAmI] = 0xB1
    registers[Register.control2] = 0x10
    // This is the value before the first measurement. It looks like 758 hPa.
    registers[Register.pressure] = 0x66
    registers[Register.pressure + 1] = 0x66
    registers[Register.pressure + 2] = 0x2F
    return registers
  }()

  public static func next(_ register: UInt8) -> UInt8 { (register &+ 1) & 0x7F }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    let register = Int(register & 0x7F)
    guard (0x0B...0x0D).contains(register) || (0x10...0x12).contains(register) || (0x14...0x1A).contains(register)
    else { return }
    // This is a reset, or a reload of the factory calibration.
    if register == Register.control2, value & 0x84 != 0 { return self = LPS22HBRegisters() }
    registers[register] = value
    switch register {
    case Register.control1: measurements.begin(at: period == nil ? nil : now)
    case Register.control2 where value & 0x01 != 0 && period == nil: measurements.begin(at: now)
    default: break
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    // A single measurement takes 13 ms.
    guard let at = measurements.next(by: now, period: period ?? 13_000_000) else { return }
    if period == nil {
      measurements.begin(at: nil)
      registers[Register.control2] &= ~0x01
    }
    // Data that was still new counts as missed.
    registers[Register.status] |= registers[Register.status] << 4 | 0x03
    // The noise is 0.75 Pa without a filter. A hectopascal has 4096 units.
    let pascals = world.truth(at: at).pressurePascals + 0.75 * world.noiseScale * noise.normal()
    let pressure = Int((pascals * 40.96).rounded())
    for index in 0..<3 { registers[Register.pressure + index] = UInt8(truncatingIfNeeded: pressure >> (8 * index)) }
    let temperature = Int(((world.temperatureCelsius + 0.01 * world.noiseScale * noise.normal()) * 100).rounded())
    for index in 0..<2 {
      registers[Register.temperature + index] = UInt8(truncatingIfNeeded: temperature >> (8 * index))
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register & 0x7F)
    let value = registers[register]
    switch register {
    // Reading the high byte clears the flag for new data.
    case Register.pressure + 2: registers[Register.status] &= ~0x11
    case Register.temperature + 1: registers[Register.status] &= ~0x22
    default: break
    }
    return value
  }

  /// The measurement period in nanoseconds; `nil` in single-measurement mode.
  private var period: Int64? {
    switch registers[Register.control1] >> 4 & 0x07 {
    case 1: 1_000_000_000
    case 2: 100_000_000
    case 3: 40_000_000
    case 4: 20_000_000
    case 5: 13_333_333
    default: nil
    }
  }
}
