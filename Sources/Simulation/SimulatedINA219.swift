import MonotonicTime

public typealias SimulatedINA219 = SimulatedSupplyMonitor<INA219Registers>

/// The registers of an INA219: its ranges, averages and modes, the flag for new data, and the values that it derives
/// with its calibration.
public struct INA219Registers: SimulatedWordRegisters {
  public static let usualAddress: UInt8 = 0x40

  private enum Register {
    static let configuration = 0
    static let shunt = 1
    static let bus = 2
    static let power = 3
    static let current = 4
    static let calibration = 5
  }

  private var registers: [UInt16] = [0x399F, 0, 0, 0, 0, 0]
  private var isReady = false
  private var overflows = false
  private var measurements = SimulatedMeasurements()
  private var noise = Noise(seed: 219)

  public init() {}

  public mutating func begin(at now: MonotonicInstant) {
    // The converter is off in power-down and ADC-off mode.
    measurements.begin(at: mode & 0x03 == 0 ? nil : now)
  }

  public mutating func write(_ value: UInt16, to register: UInt8, at now: MonotonicInstant) {
    switch Int(register) {
    case Register.configuration:
      if value & 0x8000 != 0 {
        self = INA219Registers()
      } else {
        registers[Register.configuration] = value & 0x3FFF
        if mode & 0x03 != 0 { isReady = false }
      }
      begin(at: now)
    case Register.calibration: registers[Register.calibration] = value & 0xFFFE
    default: break
    }
  }

  public mutating func measure(_ supply: SimulatedSupply, noiseScale: Double, at now: MonotonicInstant) {
    let configuration = registers[Register.configuration]
    let shuntMicroseconds = mode & 0x01 == 0 ? 0 : INA219Registers.microseconds(configuration >> 3 & 0x0F)
    let busMicroseconds = mode & 0x02 == 0 ? 0 : INA219Registers.microseconds(configuration >> 7 & 0x0F)
    guard let end = measurements.next(by: now, period: 1000 * (shuntMicroseconds + busMicroseconds)) else { return }
    // In triggered mode the chip measures once, so this measurement is the last.
    if mode < 4 { measurements.begin(at: nil) }
    // The shunt is measured first, then the bus.
    let middle = end + .microseconds(-busMicroseconds)
    if shuntMicroseconds > 0 {
      // The noise is 20 µV, and less with averaging. The data sheet gives no value.
      let sigma = 20e-6 * (532 / Double(shuntMicroseconds)).squareRoot() * noiseScale
      let start = middle + .microseconds(-shuntMicroseconds)
      let volts = supply.amperes(from: start, to: middle) * supply.shuntOhms + sigma * noise.normal()
      let limit = 4000 << Int(configuration >> 11 & 0x03)
      let units = min(max(Int((volts / 10e-6).rounded()), -limit), limit)
      registers[Register.shunt] = UInt16(truncatingIfNeeded: units)
    }
    if busMicroseconds > 0 {
      let sigma = 0.002 * (532 / Double(busMicroseconds)).squareRoot() * noiseScale
      let volts = supply.volts(from: middle, to: end) + sigma * noise.normal()
      let limit = configuration & 0x2000 == 0 ? 4000 : 8000
      registers[Register.bus] = UInt16(min(max(Int((volts / 0.004).rounded()), 0), limit)) << 3
    }
    multiply()
    isReady = true
  }

  public mutating func read(_ register: UInt8) -> UInt16 {
    let register = Int(register)
    switch register {
    case Register.bus: return registers[register] | (isReady ? 0x0002 : 0) | (overflows ? 0x0001 : 0)
    case Register.power:
      isReady = false
      return registers[register]
    // The data sheet does not define unused registers.
    default: return registers.indices.contains(register) ? registers[register] : 0
    }
  }

  private var mode: UInt16 { registers[Register.configuration] & 0x07 }

  /// Computes current and power by equations 4 and 5 of the data sheet.
  private mutating func multiply() {
    let shunt = Int(Int16(bitPattern: registers[Register.shunt]))
    let current = shunt * Int(registers[Register.calibration]) / 4096
    let power = abs(current) * Int(registers[Register.bus] >> 3) / 5000
    overflows = Int16(exactly: current) == nil || UInt16(exactly: power) == nil
    registers[Register.current] = UInt16(truncatingIfNeeded: current)
    registers[Register.power] = UInt16(truncatingIfNeeded: power)
  }

  /// The duration of a measurement, including averaging (table 5).
  private static func microseconds(_ code: UInt16) -> Int64 {
    code & 0x08 == 0
      ? [84, 148, 276, 532][Int(code & 0x03)]
      : [532, 1060, 2130, 4260, 8510, 17020, 34050, 68100][Int(code & 0x07)]
  }
}
