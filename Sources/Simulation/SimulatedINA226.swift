import MonotonicTime

public typealias SimulatedINA226 = SimulatedSupplyMonitor<INA226Registers>

/// The registers of an INA226: its conversion times, averages and modes, the flag for new data, and the values that
/// it derives with its calibration. Alert settings are stored but never trigger.
public struct INA226Registers: SimulatedWordRegisters {
  public static let usualAddress: UInt8 = 0x40

  private enum Register {
    static let configuration = 0
    static let shunt = 1
    static let bus = 2
    static let power = 3
    static let current = 4
    static let calibration = 5
    static let mask = 6
    static let limit = 7
    static let manufacturer = 0xFE
    static let die = 0xFF
  }

  private static let averages: [Int64] = [1, 4, 16, 64, 128, 256, 512, 1024]
  private static let microseconds: [Int64] = [140, 204, 332, 588, 1100, 2116, 4156, 8244]

  private var registers: [UInt16] = [0x4127, 0, 0, 0, 0, 0, 0, 0]
  private var isReady = false
  private var overflows = false
  private var measurements = SimulatedMeasurements()
  private var noise = Noise(seed: 226)

  public init() {}

  public mutating func begin(at now: MonotonicInstant) {
    // Both modes that measure neither shunt nor bus are power-down modes.
    measurements.begin(at: mode & 0x03 == 0 ? nil : now)
  }

  public mutating func write(_ value: UInt16, to register: UInt8, at now: MonotonicInstant) {
    switch Int(register) {
    case Register.configuration:
      if value & 0x8000 != 0 {
        self = INA226Registers()
      } else {
        registers[Register.configuration] = value & 0x0FFF | 0x4000
        if mode & 0x03 != 0 { isReady = false }
      }
      begin(at: now)
    case Register.calibration: registers[Register.calibration] = value & 0x7FFF
    case Register.mask: registers[Register.mask] = value & 0xFC03
    case Register.limit: registers[Register.limit] = value
    default: break
    }
  }

  public mutating func measure(_ supply: SimulatedSupply, noiseScale: Double, at now: MonotonicInstant) {
    let configuration = registers[Register.configuration]
    let averages = INA226Registers.averages[Int(configuration >> 9 & 0x07)]
    let shuntTime = mode & 0x01 == 0 ? 0 : INA226Registers.microseconds[Int(configuration >> 3 & 0x07)]
    let busTime = mode & 0x02 == 0 ? 0 : INA226Registers.microseconds[Int(configuration >> 6 & 0x07)]
    let period = averages * (shuntTime + busTime)
    guard let end = measurements.next(by: now, period: 1000 * period) else { return }
    // In triggered mode the chip measures once, so this measurement is the last.
    if mode < 4 { measurements.begin(at: nil) }
    // Shunt and bus are measured in turns, so each average is taken over the whole period.
    let start = end + .microseconds(-period)
    func sigma(_ volts: Double, _ time: Int64) -> Double {
      volts * (1100 / Double(time * averages)).squareRoot() * noiseScale
    }
    // The noise is 2.5 µV (shunt) and 1 mV (bus) at 1.1 ms. The data sheet gives no value.
    if shuntTime > 0 {
      let volts =
        supply.amperes(from: start, to: end) * supply.shuntOhms + sigma(2.5e-6, shuntTime) * noise.normal()
      let units = min(max(Int((volts / 2.5e-6).rounded()), -32768), 32767)
      registers[Register.shunt] = UInt16(truncatingIfNeeded: units)
    }
    if busTime > 0 {
      let volts = supply.volts(from: start, to: end) + sigma(0.001, busTime) * noise.normal()
      registers[Register.bus] = UInt16(min(max(Int((volts / 0.001_25).rounded()), 0), 32767))
    }
    multiply()
    isReady = true
  }

  public mutating func read(_ register: UInt8) -> UInt16 {
    let register = Int(register)
    switch register {
    case Register.mask:
      defer { isReady = false }
      return registers[register] | (isReady ? 0x0008 : 0) | (overflows ? 0x0004 : 0)
    case Register.manufacturer: return 0x5449
    case Register.die: return 0x2260
    // The data sheet does not define unused registers.
    default: return registers.indices.contains(register) ? registers[register] : 0
    }
  }

  private var mode: UInt16 { registers[Register.configuration] & 0x07 }

  /// Computes current and power by equations 3 and 4 of the data sheet.
  private mutating func multiply() {
    let shunt = Int(Int16(bitPattern: registers[Register.shunt]))
    let current = shunt * Int(registers[Register.calibration]) / 2048
    let power = abs(current) * Int(registers[Register.bus]) / 20000
    overflows = Int16(exactly: current) == nil || UInt16(exactly: power) == nil
    registers[Register.current] = UInt16(truncatingIfNeeded: current)
    registers[Register.power] = UInt16(truncatingIfNeeded: power)
  }
}
