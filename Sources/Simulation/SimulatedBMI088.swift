import MonotonicTime

public typealias SimulatedBMI088Gyroscope = SimulatedRegisterChip<BMI088GyroscopeRegisters>
public typealias SimulatedBMI088Accelerometer = SimulatedRegisterChip<BMI088AccelerometerRegisters>

/// The registers of a BMI088's gyroscope: suspend mode, in which only reset and wake-up work, rates, ranges, and the
/// FIFO of frames without headers, which stops or overwrites when it is full.
public struct BMI088GyroscopeRegisters: SimulatedRegisters {
  private static let frameLimit = 100
  private static let frameLength = 6

  public static let usualAddress: UInt8 = 0x68

  private var registers = BMI088GyroscopeRegisters.resetRegisters
  // Noise density from the data sheet: 14 mdps/√Hz, at a bandwidth of about 50 Hz.
  private var inertia = SimulatedInertia(seed: 88, ratesSigma: 0.1 * .pi / 180, forceSigma: 0)
  private var fifo: [UInt8] = []
  private var hasOverrun = false

  public init() {}

  private enum Register {
    static let chipID = 0x00
    static let output = 0x02
    static let temperature = 0x08
    static let fifoStatus = 0x0E
    static let range = 0x0F
    static let bandwidth = 0x10
    static let power = 0x11
    static let softReset = 0x14
    static let fifoConfiguration0 = 0x3D
    static let fifoConfiguration1 = 0x3E
    static let fifoData = 0x3F
  }

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 64)
    registers[Register.chipID] = 0x0F
    registers[Register.bandwidth] = 0x80
    registers[0x16] = 0x0F
    return registers
  }()

  public static func next(_ register: UInt8) -> UInt8 {
    Int(register) == Register.fifoData ? register : register &+ 1
  }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    let register = Int(register)
    if register == Register.softReset {
      if value == 0xB6 { self = BMI088GyroscopeRegisters() }
      return
    }
    guard isOn || register == Register.power else { return }
    switch register {
    case Register.range, Register.power, 0x12, 0x13, 0x15...0x18, 0x1A...0x1E, 0x21: registers[register] = value
    // The top bit is read-only.
    case Register.bandwidth: registers[register] = value | 0x80
    case Register.fifoConfiguration0, Register.fifoConfiguration1:
      registers[register] = value
      (fifo, hasOverrun) = ([], false)
    default: return
    }
    let begins = [
      Register.power, Register.bandwidth, Register.fifoConfiguration0, Register.fifoConfiguration1,
    ]
    if begins.contains(register) { inertia.begin(at: period == nil ? nil : now) }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register)
    switch register {
    case Register.fifoStatus:
      return (hasOverrun ? 0x80 : 0) | UInt8(fifo.count / BMI088GyroscopeRegisters.frameLength)
    case Register.fifoData: return fifo.isEmpty ? 0 : fifo.removeFirst()
    default: return registers.indices.contains(register) ? registers[register] : 0
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    guard isOn else { return }
    let degreesPerUnit = Double(2000 >> Int(registers[Register.range] & 0x07)) / 32768
    let latest = inertia.raw(world.truth(at: now), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: 1)
    registers.store(lowByteFirst: latest.gyroscope, at: UInt8(Register.output))
    // A unit is half a degree, and 0 means 23 °C.
    registers[Register.temperature] = UInt8(truncatingIfNeeded: Int(((world.temperatureCelsius - 23) * 2).rounded()))
    guard let period else { return }
    var bytes: [UInt8] = []
    let limit = BMI088GyroscopeRegisters.frameLimit
    let lost = inertia.takeDue(at: now, period: period, limit: limit) { _, instant, inertia in
      let raw = inertia.raw(world.truth(at: instant), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: 1)
      bytes.append(lowByteFirst: raw.gyroscope)
    }
    let excess = fifo.count + bytes.count - limit * BMI088GyroscopeRegisters.frameLength
    if lost > 0 || excess > 0 { hasOverrun = true }
    if registers[Register.fifoConfiguration1] >> 6 == 1 {
      bytes.removeLast(max(0, excess))
      fifo += bytes
    } else {
      fifo += bytes
      fifo.removeFirst(max(0, excess))
    }
  }

  private var isOn: Bool { registers[Register.power] & 0xA0 == 0 }

  /// The sampling period in nanoseconds; `nil` while nothing enters the FIFO.
  private var period: Int64? {
    let rates: [Int64] = [2000, 2000, 1000, 400, 200, 100, 200, 100]
    guard isOn, (1...2).contains(registers[Register.fifoConfiguration1] >> 6) else { return nil }
    return 1_000_000_000 / rates[Int(registers[Register.bandwidth] & 0x07)]
  }
}

/// The registers of a BMI088's accelerometer: suspend mode, rates, ranges, and the FIFO of frames with headers, which
/// counts dropped frames. Its clock is independent of the gyroscope's.
public struct BMI088AccelerometerRegisters: SimulatedRegisters {
  /// The capacity of 1 KB in frames of seven bytes.
  private static let frameLimit = 146
  /// The ratio of the clock's actual frequency to its nominal frequency.
  private static let clockRatio = 1.002

  public static let usualAddress: UInt8 = 0x18

  private var registers = BMI088AccelerometerRegisters.resetRegisters
  // Noise density from the data sheet: 175 µg/√Hz, at a bandwidth of about 40 Hz.
  private var inertia = SimulatedInertia(seed: 880, ratesSigma: 0, forceSigma: 0.011)
  private var frames: [[UInt8]] = []
  private var skipped = 0
  /// The rest of the frame that is being read.
  private var frame: ArraySlice<UInt8> = []

  public init() {}

  private enum Register {
    static let chipID = 0x00
    static let output = 0x12
    static let temperature = 0x22
    static let fifoLength = 0x24
    static let fifoData = 0x26
    static let configuration = 0x40
    static let range = 0x41
    static let fifoConfiguration0 = 0x48
    static let fifoConfiguration1 = 0x49
    static let powerConfiguration = 0x7C
    static let powerControl = 0x7D
    static let command = 0x7E
  }

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Register.chipID] = 0x1E
    registers[Register.configuration] = 0xA8
    registers[Register.range] = 0x01
    registers[0x45] = 0x80
    registers[Register.fifoConfiguration0] = 0x02
    registers[Register.fifoConfiguration1] = 0x10
    registers[Register.powerConfiguration] = 0x03
    return registers
  }()

  public static func next(_ register: UInt8) -> UInt8 {
    Int(register) == Register.fifoData ? register : register &+ 1
  }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    let register = Int(register)
    switch register {
    case Register.command:
      if value == 0xB6 { return self = BMI088AccelerometerRegisters() }
      guard value == 0xB0 else { return }
      (frames, frame, skipped) = ([], [], 0)
    case 0x40..<Register.command: registers[register] = value
    default: return
    }
    let begins = [
      Register.configuration, Register.fifoConfiguration0, Register.fifoConfiguration1, Register.powerConfiguration,
      Register.powerControl, Register.command,
    ]
    if begins.contains(register) { inertia.begin(at: period == nil ? nil : now) }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let register = Int(register)
    let length = 7 * frames.count + frame.count + (skipped > 0 ? 2 : 0)
    switch register {
    case Register.fifoLength: return UInt8(truncatingIfNeeded: length)
    // The top bit says that the FIFO is empty.
    case Register.fifoLength + 1: return length == 0 ? 0x80 : UInt8(length >> 8)
    case Register.fifoData:
      if frame.isEmpty {
        if skipped > 0 {
          frame = [0x40, UInt8(min(skipped, 255))]
          skipped = 0
        } else {
          frame = frames.isEmpty ? [0x80] : frames.removeFirst()[...]
        }
      }
      return frame.removeFirst()
    default: return registers.indices.contains(register) ? registers[register] : 0
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    guard isOn else { return }
    let gravitiesPerUnit = Double(3 << Int(registers[Register.range] & 0x03)) / 32768
    let latest = inertia.raw(world.truth(at: now), degreesPerUnit: 1, gravitiesPerUnit: gravitiesPerUnit)
    registers.store(lowByteFirst: latest.accelerometer, at: UInt8(Register.output))
    // The temperature has eleven bits, most significant first.
    let temperature = Int(((world.temperatureCelsius - 23) / 0.125).rounded()) << 5
    registers[Register.temperature] = UInt8(truncatingIfNeeded: temperature >> 8)
    registers[Register.temperature + 1] = UInt8(truncatingIfNeeded: temperature)
    guard let period else { return }
    var taken: [[UInt8]] = []
    let limit = BMI088AccelerometerRegisters.frameLimit
    let lost = inertia.takeDue(at: now, period: period, limit: limit) { _, instant, inertia in
      let raw = inertia.raw(world.truth(at: instant), degreesPerUnit: 1, gravitiesPerUnit: gravitiesPerUnit)
      var frame: [UInt8] = [0x84]
      frame.append(lowByteFirst: raw.accelerometer)
      taken.append(frame)
    }
    frames += taken
    let excess = max(0, frames.count - limit)
    frames.removeFirst(excess)
    skipped += lost + excess
  }

  private var isOn: Bool {
    registers[Register.powerConfiguration] & 0x03 == 0 && registers[Register.powerControl] & 0x04 != 0
  }

  /// The sampling period in nanoseconds; `nil` while nothing enters the FIFO. Only the mode that drops the oldest
  /// frames is simulated.
  private var period: Int64? {
    let code = Int(registers[Register.configuration] & 0x0F)
    guard isOn, (0x05...0x0C).contains(code), registers[Register.fifoConfiguration0] & 0x01 == 0,
      registers[Register.fifoConfiguration1] & 0x40 != 0
    else { return nil }
    return Int64(1e9 / (12.5 * Double(1 << (code - 5)) * BMI088AccelerometerRegisters.clockRatio))
  }
}
