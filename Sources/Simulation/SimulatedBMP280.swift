import MonotonicTime

public typealias SimulatedBMP280 = SimulatedRegisterChip<BMP280Registers<BMP280>>
public typealias SimulatedBME280 = SimulatedRegisterChip<BMP280Registers<BME280>>

/// The differences between a BME280 and a BMP280.
public protocol BMP280Kind {
  static var identity: UInt8 { get }
  static var hasHumidity: Bool { get }
}

public enum BMP280: BMP280Kind {
  public static let identity: UInt8 = 0x58
  public static let hasHumidity = false
}

public enum BME280: BMP280Kind {
  public static let identity: UInt8 = 0x60
  public static let hasHumidity = true
}

/// The registers of a BMP280 or BME280: its coefficients, its modes, and the raw values of the simulated air.
///
/// The raw values are found by bisection on the data sheet's integer formulas. The driver uses other formulas.
public struct BMP280Registers<Kind: BMP280Kind>: SimulatedRegisters {
  public static var usualAddress: UInt8 { 0x76 }

  private var registers = BMP280Registers.resetRegisters
  private var measurements = SimulatedMeasurements()
  private var noise = Noise(seed: 280)

  public init() {}

  // These are the example coefficients of the data sheets.
  private static var temperatureCoefficients: [Int64] { [27504, 26435, -1000] }
  private static var pressureCoefficients: [Int64] { [36477, -10685, 3024, 2855, 140, -7, 15500, -14600, 6000] }
  private static var humidityCoefficients: [Int64] { [75, 370, 0, 313, 50, 30] }

  private static var resetRegisters: [UInt8] {
    var registers = [UInt8](repeating: 0, count: 256)
    registers[0xD0] = Kind.identity
    for (index, value) in (temperatureCoefficients + pressureCoefficients).enumerated() {
      registers[0x88 + 2 * index] = UInt8(truncatingIfNeeded: value)
      registers[0x89 + 2 * index] = UInt8(truncatingIfNeeded: value >> 8)
    }
    if Kind.hasHumidity {
      let h = humidityCoefficients
      registers[0xA1] = UInt8(truncatingIfNeeded: h[0])
      registers[0xE1] = UInt8(truncatingIfNeeded: h[1])
      registers[0xE2] = UInt8(truncatingIfNeeded: h[1] >> 8)
      registers[0xE3] = UInt8(truncatingIfNeeded: h[2])
      registers[0xE4] = UInt8(truncatingIfNeeded: h[3] >> 4)
      registers[0xE5] = UInt8(truncatingIfNeeded: (h[3] & 0x0F) | (h[4] & 0x0F) << 4)
      registers[0xE6] = UInt8(truncatingIfNeeded: h[4] >> 4)
      registers[0xE7] = UInt8(truncatingIfNeeded: h[5])
    }
    // These are the values before the first measurement.
    for register in [0xF7, 0xFA] { registers[register] = 0x80 }
    if Kind.hasHumidity { registers[0xFD] = 0x80 }
    return registers
  }

  public static func next(_ register: UInt8) -> UInt8 { register &+ 1 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    switch register {
    case 0xE0 where value == 0xB6: self = BMP280Registers()
    case 0xF2 where Kind.hasHumidity, 0xF5: registers[Int(register)] = value
    case 0xF4:
      registers[Int(register)] = value
      // In forced mode a real chip measures once and sleeps; the twin keeps measuring.
      measurements.begin(at: value & 0x03 == 0 ? nil : now)
    default: break
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 { registers[Int(register)] }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    let control = registers[0xF4]
    func times(_ code: UInt8) -> Double { code == 0 ? 0 : Double(1 << (min(Int(code), 5) - 1)) }
    let temperatureTimes = times(control >> 5)
    let pressureTimes = times(control >> 2 & 0x07)
    let humidityTimes = Kind.hasHumidity ? times(registers[0xF2] & 0x07) : 0
    let conversion =
      1 + 2 * temperatureTimes + (pressureTimes > 0 ? 2 * pressureTimes + 0.5 : 0)
      + (humidityTimes > 0 ? 2 * humidityTimes + 0.5 : 0)
    let standby: [Double] =
      Kind.hasHumidity ? [0.5, 62.5, 125, 250, 500, 1000, 10, 20] : [0.5, 62.5, 125, 250, 500, 1000, 2000, 4000]
    let rest = control & 0x03 == 0x03 ? standby[Int(registers[0xF5] >> 5)] : 0
    guard temperatureTimes > 0, let at = measurements.next(by: now, period: Int64((conversion + rest) * 1e6)) else {
      return
    }
    let temperature = Int64(((world.temperatureCelsius + 0.005 * world.noiseScale * noise.normal()) * 100).rounded())
    let rawTemperature = (0..<1 << 20).bisect { BMP280Registers.fine($0) * 5 + 128 < temperature << 8 }
    store(rawTemperature << 4, bytes: 3, at: 0xFA)
    let fine = BMP280Registers.fine(rawTemperature)
    if pressureTimes > 0 {
      // The noise is 1.3 Pa at the lowest oversampling.
      let sigma = 1.3 / pressureTimes.squareRoot() * world.noiseScale
      let wanted = world.truth(at: at).pressurePascals + sigma * noise.normal()
      let raw = (0..<1 << 20).bisect { BMP280Registers.pressure($0, fine) > Int64(wanted * 256) }
      store(raw << 4, bytes: 3, at: 0xF7)
    }
    if humidityTimes > 0 {
      let wanted = Int64((world.humidityPercent * 1024).rounded())
      store((0..<1 << 16).bisect { BMP280Registers.humidity($0, fine) < wanted }, bytes: 2, at: 0xFD)
    }
  }

  private mutating func store(_ raw: Int64, bytes: Int, at register: Int) {
    for index in 0..<bytes { registers[register + index] = UInt8(truncatingIfNeeded: raw >> (8 * (bytes - 1 - index))) }
  }

  /// The temperature in units of 1/5120 °C (BMP280 3.11.3).
  private static func fine(_ raw: Int64) -> Int64 {
    let t = temperatureCoefficients
    let first = ((raw >> 3 - t[0] << 1) * t[1]) >> 11
    let difference = raw >> 4 - t[0]
    return first + ((difference * difference) >> 12 * t[2]) >> 14
  }

  /// The pressure in units of 1/256 Pa (BMP280 3.11.3).
  private static func pressure(_ raw: Int64, _ fine: Int64) -> Int64 {
    let p = pressureCoefficients
    let x = fine - 128_000
    let offset = x * x * p[5] + (x * p[4]) << 17 + p[3] << 35
    let scale = ((1 << 47 + ((x * x * p[2]) >> 8 + (x * p[1]) << 12)) * p[0]) >> 33
    guard scale != 0 else { return 0 }
    let first = (((1_048_576 - raw) << 31 - offset) * 3125) / scale
    let square = (p[8] * (first >> 13) * (first >> 13)) >> 25
    return (first + square + (p[7] * first) >> 19) >> 8 + p[6] << 4
  }

  /// The relative humidity in units of 1/1024 percent (BME280 4.2.3).
  private static func humidity(_ raw: Int64, _ fine: Int64) -> Int64 {
    let h = humidityCoefficients
    let x = fine - 76800
    let measured = (raw << 14 - h[3] << 20 - h[4] * x + 16384) >> 15
    let warmed = (((x * h[5]) >> 10 * ((x * h[2]) >> 11 + 32768)) >> 10 + 2_097_152) * h[1] + 8192
    let linear = measured * (warmed >> 14)
    let bent = linear - (((linear >> 15 * (linear >> 15)) >> 7) * h[0]) >> 4
    return min(max(bent, 0), 419_430_400) >> 12
  }
}
