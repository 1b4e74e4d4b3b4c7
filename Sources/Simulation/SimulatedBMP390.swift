import MonotonicTime

public typealias SimulatedBMP388 = SimulatedRegisterChip<BMP390Registers<BMP388>>
public typealias SimulatedBMP390 = SimulatedRegisterChip<BMP390Registers<BMP390>>

/// The differences between a BMP390 and a BMP388.
public protocol BMP390Kind {
  static var identity: UInt8 { get }
  static var usualAddress: UInt8 { get }
}

public enum BMP388: BMP390Kind {
  public static let identity: UInt8 = 0x50
  public static let usualAddress: UInt8 = 0x76
}

public enum BMP390: BMP390Kind {
  public static let identity: UInt8 = 0x60
  public static let usualAddress: UInt8 = 0x77
}

/// The registers of a BMP388 or BMP390: its coefficients, its modes, the check whether a rate leaves time for the
/// oversampling, the flags for new data, and the raw values of the simulated air.
///
/// The raw values are found by bisection on the integer formulas of the maker's library. The driver uses other
/// formulas.
public struct BMP390Registers<Kind: BMP390Kind>: SimulatedRegisters {
  public static var usualAddress: UInt8 { Kind.usualAddress }

  private var registers = BMP390Registers.resetRegisters
  private var measurements = SimulatedMeasurements()
  private var noise = Noise(seed: 390)

  public init() {}

  private static var resetRegisters: [UInt8] {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[0x00] = Kind.identity
    // The chip is ready for commands.
    registers[0x03] = 0x10
    // These are the values before the first measurement.
    registers[0x06] = 0x80
    registers[0x09] = 0x80
    // The flag says that a reset is complete.
    registers[0x10] = 0x01
    registers[0x1C] = 0x02
    registers.replaceSubrange(0x31..<0x46, with: Trimming.bytes)
    return registers
  }

  public static func next(_ register: UInt8) -> UInt8 { (register &+ 1) & 0x7F }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    switch register {
    case 0x15...0x1A, 0x1C, 0x1D, 0x1F: registers[Int(register)] = value
    case 0x1B:
      registers[0x1B] = value & 0x33
      switch value >> 4 & 0x03 {
      case 0: measurements.begin(at: nil)
      case 3 where conversionMicroseconds > periodMicroseconds:
        // The rate leaves no time for the oversampling. The chip reports an error and sleeps.
        registers[0x02] |= 0x04
        registers[0x1B] &= 0x03
        measurements.begin(at: nil)
      default: measurements.begin(at: now)
      }
    case 0x7E:
      switch value {
      case 0xB6: self = BMP390Registers()
      // These commands change nothing: the no-operation command, the middle of a command sequence, and the flush of an
      // empty FIFO.
      case 0x00, 0x34, 0xB0: break
      default: registers[0x02] |= 0x02
      }
    default: break
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register & 0x7F)
    let value = registers[register]
    switch register {
    // Recoverable errors and events are cleared when they are read.
    case 0x02: registers[0x02] &= 0x01
    case 0x10, 0x11: registers[register] = 0
    case 0x04...0x06: registers[0x03] &= ~0x20
    case 0x07...0x09: registers[0x03] &= ~0x40
    default: break
    }
    return value
  }

  /// The number of measurements averaged into a result.
  private var pressureTimes: Int64 { 1 << Int64(min(registers[0x1C] & 0x07, 5)) }
  private var temperatureTimes: Int64 { 1 << Int64(min(registers[0x1C] >> 3 & 0x07, 5)) }
  private var measuresPressure: Bool { registers[0x1B] & 0x01 != 0 }
  private var measuresTemperature: Bool { registers[0x1B] & 0x02 != 0 }

  private var conversionMicroseconds: Int64 {
    let pressure = measuresPressure ? 392 + 2020 * pressureTimes : 0
    let temperature = measuresTemperature ? 163 + 2020 * temperatureTimes : 0
    return 234 + pressure + temperature
  }

  private var periodMicroseconds: Int64 { 5000 << Int64(min(registers[0x1D] & 0x1F, 17)) }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    let isForced = registers[0x1B] >> 4 & 0x03 != 0x03
    let period = isForced ? conversionMicroseconds : periodMicroseconds
    guard let at = measurements.next(by: now, period: period * 1000) else { return }
    // In forced mode the chip measures once and sleeps.
    if isForced {
      measurements.begin(at: nil)
      registers[0x1B] &= 0x03
    }
    let temperature = Int64(((world.temperatureCelsius + 0.005 * world.noiseScale * noise.normal()) * 65536).rounded())
    let range: Range<Int64> = 0..<0x100_0000
    let rawTemperature = range.bisect { Trimming.fine($0) < temperature }
    if measuresTemperature {
      store(rawTemperature, at: 0x07)
      registers[0x03] |= 0x40
    }
    if measuresPressure {
      // The noise is 2.5 Pa at the lowest oversampling.
      let sigma = 2.5 / Double(pressureTimes).squareRoot()
      let wanted = Int64((world.truth(at: at).pressurePascals + sigma * world.noiseScale * noise.normal()) * 0x1p42)
      let fine = Trimming.fine(rawTemperature)
      store(range.bisect { Trimming.pressure($0, fine) > wanted }, at: 0x04)
      registers[0x03] |= 0x20
    }
    registers[0x11] |= 0x08
  }

  private mutating func store(_ raw: Int64, at register: Int) {
    for index in 0..<3 { registers[register + index] = UInt8(truncatingIfNeeded: raw >> Int64(8 * index)) }
  }
}

/// The coefficients of a chip, and the formulas that use them.
private enum Trimming {
  /// The coefficients in the layout of a BMP388: T1 to T3 and P1 to P11, low byte first.
  static let bytes: [UInt8] = [
    0xDD, 0x6A, 0x51, 0x49, 0xF6,
    0xC9, 0x00, 0x1E, 0xF6, 0x23, 0x00, 0x55, 0x61, 0xCA, 0x77, 0xF3, 0xF6, 0xA3, 0x3F, 0x16, 0xC4,
  ]
  private static let t: (Int64, Int64, Int64) = (27357, 18769, -10)
  private static let p: (Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64, Int64) = (
    201, -2530, 35, 0, 24917, 30666, -13, -10, 16291, 22, -60
  )

  /// The temperature in units of 1/65536 °C.
  static func fine(_ raw: Int64) -> Int64 {
    let deviation = raw - t.0 << 8
    let linear = (deviation * t.1) << 18
    return (linear + deviation * deviation * t.2) >> 32
  }

  /// The pressure in units of 2⁻⁴² Pa.
  static func pressure(_ raw: Int64, _ fine: Int64) -> Int64 {
    let square = fine * fine
    let cube = (square >> 6 * fine) >> 8
    var offset = p.4 << 47
    offset += (p.7 * cube) >> 5
    offset += (p.6 * square) << 4
    offset += (p.5 * fine) << 22
    var slope = (p.0 - 16384) << 46
    slope += (p.3 * cube) >> 5
    slope += (p.2 * square) << 2
    slope += (p.1 - 16384) * fine << 21
    let linear = slope >> 24 * raw
    // The value is divided before it is multiplied, to avoid an overflow.
    let bend = ((p.9 * fine + p.8 << 16) * raw) >> 13
    let quadratic = (raw * (bend / 10)) >> 9 * 10
    let cubic = ((p.10 * raw * raw) >> 16 * raw) >> 7
    return offset >> 2 + linear + quadratic + cubic
  }
}
