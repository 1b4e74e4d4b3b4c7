import MonotonicTime

public typealias SimulatedDPS310 = SimulatedRegisterChip<DPS310Registers>

/// The registers of a DPS310: its coefficients, which are available only 40 ms after a reset, its modes and rates, its
/// two temperature sensors, and the defect of some chips, which report a temperature that is 40 degrees too high until
/// a correction is written.
public struct DPS310Registers: SimulatedRegisters {
  public static let usualAddress: UInt8 = 0x77

  private var registers = DPS310Registers.resetRegisters
  private var pressures = SimulatedMeasurements()
  private var temperatures = SimulatedMeasurements()
  private var noise = Noise(seed: 310)
  /// When the reset began.
  private var resetAt: MonotonicInstant?

  public init() {}

  private enum Register {
    static let pressure = 0x00
    static let temperature = 0x03
    static let pressureConfiguration = 0x06
    static let temperatureConfiguration = 0x07
    static let measurement = 0x08
    static let configuration = 0x09
    static let product = 0x0D
    static let unlock1 = 0x0E
    static let unlock2 = 0x0F
    static let coefficients = 0x10
    static let coefficientSource = 0x28
    static let mended = 0x32
  }

  private static let c: (Int64, Int64) = (222, -297)
  private static let c00: Int64 = 79832
  private static let c10: Int64 = -56308
  private static let c01: Int64 = -2295
  private static let c11: Int64 = 1444
  private static let c20: Int64 = -9701
  private static let c21: Int64 = 111
  private static let c30: Int64 = -489
  /// The same coefficients, packed: two numbers of 12 bits, two of 20, five of 16.
  private static let coefficients: [UInt8] = [
    0x0D, 0xEE, 0xD7, 0x13, 0x7D, 0x8F, 0x24, 0x0C, 0xF7, 0x09, 0x05, 0xA4, 0xDA, 0x1B, 0x00, 0x6F, 0xFE, 0x17,
  ]
  /// The full scale, the duration and the pressure noise, by oversampling.
  private static let scales: [Int64] = [
    524_288, 1_572_864, 3_670_016, 7_864_320, 253_952, 516_096, 1_040_384, 2_088_960,
  ]
  private static let microseconds: [Int64] = [3600, 5200, 8400, 14800, 27600, 53200, 104_400, 206_800]
  private static let noisePascals = [2.5, 1.0, 0.5, 0.4, 0.35, 0.3, 0.2, 0.2]

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 256)
    // These are the values before the first measurement.
    registers[Register.pressure] = 0x80
    registers[Register.temperature] = 0x80
    registers[Register.measurement] = 0xC0
    registers[Register.product] = 0x10
    registers.replaceSubrange(
      Register.coefficients..<Register.coefficients + 18, with: DPS310Registers.coefficients)
    // The coefficients apply to the external temperature sensor, next to the pressure cell.
    registers[Register.coefficientSource] = 0x80
    return registers
  }()

  public static func next(_ register: UInt8) -> UInt8 { register &+ 1 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    switch Int(register) {
    case Register.pressureConfiguration, Register.temperatureConfiguration:
      registers[Int(register)] = value
      begin(at: now)
    case Register.measurement:
      registers[Register.measurement] = registers[Register.measurement] & 0xF0 | value & 0x07
      begin(at: now)
    case Register.configuration, Register.unlock1, Register.unlock2: registers[Int(register)] = value
    case 0x0C where value & 0x0F == 0x09:
      self = DPS310Registers()
      resetAt = now
      registers[Register.measurement] = 0
      for index in 0..<18 { registers[Register.coefficients + index] = 0 }
    case 0x62 where registers[Register.unlock1] == 0xA5 && registers[Register.unlock2] == 0x96:
      registers[Register.mended] = value & 0x02
    default: break
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let value = registers[Int(register)]
    switch Int(register) {
    case Register.pressure..<Register.temperature: registers[Register.measurement] &= ~0x10
    case Register.temperature..<Register.pressureConfiguration: registers[Register.measurement] &= ~0x20
    default: break
    }
    return value
  }

  private var mode: UInt8 { registers[Register.measurement] & 0x07 }
  private var pressurePrecision: Int { Int(registers[Register.pressureConfiguration] & 0x07) }
  private var temperaturePrecision: Int { Int(registers[Register.temperatureConfiguration] & 0x07) }
  private var pressurePeriod: Int64 { DPS310Registers.period(registers[Register.pressureConfiguration]) }
  private var temperaturePeriod: Int64 { DPS310Registers.period(registers[Register.temperatureConfiguration]) }

  /// The measurement period in nanoseconds.
  private static func period(_ configuration: UInt8) -> Int64 { 1_000_000_000 >> Int64(configuration >> 4 & 0x07) }

  /// Starts measuring. The first results are available as early as possible, temperature first. Further results
  /// follow at the configured period.
  private mutating func begin(at now: MonotonicInstant) {
    let temperatureTime = 1000 * DPS310Registers.microseconds[temperaturePrecision]
    let pressureTime = 1000 * DPS310Registers.microseconds[pressurePrecision]
    let measuresTemperature = mode & 0x02 != 0
    let measuresPressure = mode & 0x01 != 0
    let both = pressureTime + (measuresTemperature ? temperatureTime : 0)
    let temperatureStart = now + .nanoseconds(temperatureTime - temperaturePeriod)
    let pressureStart = now + .nanoseconds(both - pressurePeriod)
    temperatures.begin(at: measuresTemperature ? temperatureStart : nil)
    pressures.begin(at: measuresPressure ? pressureStart : nil)
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    if let reset = resetAt {
      if now - reset >= .milliseconds(12) { registers[Register.measurement] |= 0x40 }
      if now - reset >= .milliseconds(40) {
        registers[Register.measurement] |= 0x80
        registers.replaceSubrange(
          Register.coefficients..<Register.coefficients + 18, with: DPS310Registers.coefficients)
        resetAt = nil
      }
    }
    if temperatures.next(by: now, period: temperaturePeriod) != nil {
      measureTemperature(world)
      endIfSingle()
    }
    if let at = pressures.next(by: now, period: pressurePeriod) {
      measurePressure(world, at: at)
      endIfSingle()
    }
  }

  private mutating func endIfSingle() {
    guard mode & 0x04 == 0 else { return }
    registers[Register.measurement] &= ~0x07
    temperatures.begin(at: nil)
    pressures.begin(at: nil)
  }

  private mutating func measureTemperature(_ world: World) {
    var celsius = world.temperatureCelsius + 0.01 * world.noiseScale * noise.normal()
    // The first line simulates the defect. The second line simulates a temperature sensor that does not match the
    // coefficients.
    if registers[Register.mended] & 0x02 == 0 { celsius += 40 }
    if registers[Register.temperatureConfiguration] & 0x80 == 0 { celsius -= 28 }
    let scale = DPS310Registers.scales[temperaturePrecision]
    let isShifted = temperaturePrecision < 4 || registers[Register.configuration] & 0x08 != 0
    store(DPS310Registers.rawTemperature(celsius, scale), isShifted: isShifted, at: Register.temperature)
    registers[Register.measurement] |= 0x20
  }

  private mutating func measurePressure(_ world: World, at: MonotonicInstant) {
    let sigma = DPS310Registers.noisePascals[pressurePrecision]
    let wanted = Int64((world.truth(at: at).pressurePascals + sigma * world.noiseScale * noise.normal()) * 65536)
    // The pressure cell depends on the actual temperature, regardless of the sensor that measures it.
    let temperature = DPS310Registers.rawTemperature(world.temperatureCelsius, 1 << 30)
    let scale = DPS310Registers.scales[pressurePrecision]
    let range = -scale..<scale
    let raw = range.bisect { DPS310Registers.pressure($0 << 30 / scale, temperature) > wanted }
    let isShifted = pressurePrecision < 4 || registers[Register.configuration] & 0x04 != 0
    store(raw, isShifted: isShifted, at: Register.pressure)
    registers[Register.measurement] |= 0x10
  }

  /// Stores a result. A result that is not shifted is too long, and loses its upper bits.
  private mutating func store(_ raw: Int64, isShifted: Bool, at register: Int) {
    let raw = isShifted ? raw : raw << 6
    for index in 0..<3 { registers[register + index] = UInt8(truncatingIfNeeded: raw >> Int64(16 - 8 * index)) }
  }

  private static func rawTemperature(_ celsius: Double, _ scale: Int64) -> Int64 {
    Int64(((celsius - Double(c.0) / 2) / Double(c.1) * Double(scale)).rounded())
  }

  /// The pressure in units of 1/65536 Pa, from numbers with a full scale of 2³⁰.
  private static func pressure(_ scaled: Int64, _ temperature: Int64) -> Int64 {
    var slope = c30 << 16
    slope = c20 << 16 + (slope * scaled) >> 30
    slope = c10 << 16 + (slope * scaled) >> 30
    var warmth = c21 << 16
    warmth = c11 << 16 + (warmth * scaled) >> 30
    warmth = c01 << 16 + (warmth * scaled) >> 30
    return c00 << 16 + (slope * scaled) >> 30 + (warmth * temperature) >> 30
  }
}
