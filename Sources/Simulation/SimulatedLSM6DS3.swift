import MonotonicTime

public typealias SimulatedLSM6DS3 = SimulatedRegisterChip<LSM6DS3Registers<LSM6DS3>>
public typealias SimulatedLSM6DS3TRC = SimulatedRegisterChip<LSM6DS3Registers<LSM6DS3TRC>>

/// The differences between an LSM6DS3TR-C and an LSM6DS3.
public protocol LSM6DS3Kind {
  static var identity: UInt8 { get }
  /// The maximum number of words in the FIFO.
  static var wordLimit: Int { get }
  static var temperatureUnitsPerDegree: Double { get }
  /// The registers that are not 0 after a reset.
  static var resetValues: [(register: Int, value: UInt8)] { get }
}

public enum LSM6DS3: LSM6DS3Kind {
  public static let identity: UInt8 = 0x69
  /// 8 KB in words of two bytes, rounded down to whole samples of six words.
  public static let wordLimit = 4092
  public static let temperatureUnitsPerDegree = 16.0
  public static let resetValues: [(register: Int, value: UInt8)] = [(0x12, 0x04), (0x18, 0x38), (0x19, 0x38)]
}

public enum LSM6DS3TRC: LSM6DS3Kind {
  public static let identity: UInt8 = 0x6A
  /// 4 KB in words of two bytes, rounded down to whole samples of six words.
  public static let wordLimit = 2046
  public static let temperatureUnitsPerDegree = 256.0
  public static let resetValues: [(register: Int, value: UInt8)] = [(0x12, 0x04), (0x18, 0xE0)]
}

private enum Register {
  static let page = 0x01
  static let fifoDecimation = 0x08
  static let fifoControl = 0x0A
  static let whoAmI = 0x0F
  static let accelerometer = 0x10
  static let gyroscope = 0x11
  static let control3 = 0x12
  static let status = 0x1E
  static let temperature = 0x20
  static let gyroscopeData = 0x22
  static let accelerometerData = 0x28
  static let fifoStatus = 0x3A
  static let fifoData = 0x3E
}

/// The registers of an LSM6DS3TR-C or LSM6DS3: power-down, rates, ranges, the page of embedded functions, and the
/// FIFO of words without tags, with its pattern and its overrun.
public struct LSM6DS3Registers<Kind: LSM6DS3Kind>: SimulatedRegisters {
  public static var usualAddress: UInt8 { 0x6A }

  private var registers = LSM6DS3Registers.resetRegisters
  /// The page of the embedded functions.
  private var page = [UInt8](repeating: 0, count: 128)
  // Noise densities from the data sheet: 4.5 mdps/√Hz and 90 µg/√Hz, at a bandwidth of about 100 Hz.
  private var inertia = SimulatedInertia(seed: 63, ratesSigma: 0.045 * .pi / 180, forceSigma: 0.009)
  private var fifo: [Int16] = []
  /// The position in the pattern of the word that is read next.
  private var place = 0
  private var hasOverrun = false

  public init() {}

  private static var resetRegisters: [UInt8] {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Register.whoAmI] = Kind.identity
    for (register, value) in Kind.resetValues { registers[register] = value }
    return registers
  }

  /// Reads continue from the high byte of a FIFO word to the low byte of the next word.
  public static func next(_ register: UInt8) -> UInt8 {
    Int(register) == Register.fifoData + 1 ? UInt8(Register.fifoData) : register &+ 1
  }

  private var isPageOpen: Bool { registers[Register.page] & 0x80 != 0 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    let register = Int(register)
    guard register < 128 else { return }
    if isPageOpen, register != Register.page { return page[register] = value }
    switch register {
    case Register.whoAmI, Register.status...Register.accelerometerData + 5, Register.fifoStatus...Register.fifoData + 1:
      return
    case Register.control3:
      if value & 0x01 != 0 { return self = LSM6DS3Registers() }
      // The reboot of the trim changes nothing and completes immediately.
      registers[register] = value & 0x7F
    case Register.fifoControl:
      registers[register] = value
      if value & 0x07 == 0 { (fifo, place, hasOverrun) = ([], 0, false) }
      inertia.begin(at: value & 0x07 == 0x06 ? now : nil)
    default: registers[register] = value
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register)
    guard register < 128 else { return 0 }
    if isPageOpen, register != Register.page { return page[register] }
    switch register {
    case Register.fifoStatus: return UInt8(truncatingIfNeeded: fifo.count)
    case Register.fifoStatus + 1: return (hasOverrun ? 0x40 : 0) | (fifo.isEmpty ? 0x10 : 0) | UInt8(fifo.count >> 8)
    case Register.fifoStatus + 2: return UInt8(place)
    case Register.fifoStatus + 3: return 0
    case Register.fifoData: return UInt8(truncatingIfNeeded: fifo.first ?? 0)
    case Register.fifoData + 1:
      guard !fifo.isEmpty else { return 0 }
      place = (place + 1) % max(1, patternLength)
      return UInt8(truncatingIfNeeded: fifo.removeFirst() >> 8)
    default: return registers[register]
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    let degreesPerUnit = 8.75e-3 * Double(1 << Int(registers[Register.gyroscope] >> 2 & 3))
    let gravitiesPerUnit = 0.061e-3 * [1, 8, 2, 4][Int(registers[Register.accelerometer] >> 2 & 3)]
    let raw = inertia.raw(
      world.truth(at: now), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
    let (hasRates, hasForce) = (rate(Register.gyroscope) != 0, rate(Register.accelerometer) != 0)
    if hasRates { store(raw.gyroscope, at: Register.gyroscopeData) }
    if hasForce { store(raw.accelerometer, at: Register.accelerometerData) }
    if hasRates || hasForce {
      let temperature = Int16((world.temperatureCelsius - 25) * Kind.temperatureUnitsPerDegree)
      registers[Register.temperature] = UInt8(truncatingIfNeeded: temperature)
      registers[Register.temperature + 1] = UInt8(truncatingIfNeeded: temperature >> 8)
    }
    registers[Register.status] = (hasForce ? 0x01 : 0) | (hasRates ? 0x02 : 0) | (hasForce || hasRates ? 0x04 : 0)
    guard let period else { return }
    let (withRates, withForce) = (takesRates, takesForce)
    var words: [Int16] = []
    let lost = inertia.takeDue(at: now, period: period, limit: Kind.wordLimit / patternLength) { _, instant, inertia in
      let raw = inertia.raw(
        world.truth(at: instant), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
      for axis in 0..<3 where withRates { words.append(raw.gyroscope[axis]) }
      for axis in 0..<3 where withForce { words.append(raw.accelerometer[axis]) }
    }
    fifo += words
    let excess = fifo.count - Kind.wordLimit
    if excess > 0 { fifo.removeFirst((excess + patternLength - 1) / patternLength * patternLength) }
    if lost > 0 || excess > 0 { hasOverrun = true }
  }

  private mutating func store(_ axes: SIMD3<Int16>, at register: Int) {
    var bytes: [UInt8] = []
    bytes.append(lowByteFirst: axes)
    registers.replaceSubrange(register..<register + 6, with: bytes)
  }

  /// The rate code of a sensor; 0 if it is off.
  private func rate(_ register: Int) -> Int { Int(registers[register] >> 4) }

  /// Whether the FIFO receives the samples of each sensor. The chip can also decimate them, which is not simulated.
  private var takesRates: Bool { registers[Register.fifoDecimation] >> 3 & 0x07 == 0x01 }
  private var takesForce: Bool { registers[Register.fifoDecimation] & 0x07 == 0x01 }

  private var patternLength: Int { (takesRates ? 3 : 0) + (takesForce ? 3 : 0) }

  /// The sampling period in nanoseconds; `nil` while nothing enters the FIFO.
  private var period: Int64? {
    var code = Int(registers[Register.fifoControl] >> 3 & 0x0F)
    if takesRates { code = min(code, rate(Register.gyroscope)) }
    if takesForce { code = min(code, rate(Register.accelerometer)) }
    // The lowest rate is 12.5 Hz. Each step doubles the rate, with the chip's own rounding.
    let rates: [Double] = [12.5, 26, 52, 104, 208, 416, 833, 1666]
    guard registers[Register.fifoControl] & 0x07 == 0x06, patternLength > 0, rates.indices.contains(code - 1) else {
      return nil
    }
    return Int64(1e9 / rates[code - 1])
  }
}
