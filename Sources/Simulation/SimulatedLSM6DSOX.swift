import MonotonicTime

public typealias SimulatedLSM6DSOX = SimulatedRegisterChip<LSM6DSOXRegisters<LSM6DSOX>>
public typealias SimulatedISM330DHCX = SimulatedRegisterChip<LSM6DSOXRegisters<ISM330DHCX>>

/// The differences between an ISM330DHCX and an LSM6DSOX.
public protocol LSM6DSOXKind {
  static var identity: UInt8 { get }
}

public enum LSM6DSOX: LSM6DSOXKind {
  public static let identity: UInt8 = 0x6C
}

public enum ISM330DHCX: LSM6DSOXKind {
  public static let identity: UInt8 = 0x6B
}

private enum Register {
  static let fifoControl3: UInt8 = 0x09
  static let fifoControl4: UInt8 = 0x0A
  static let whoAmI: UInt8 = 0x0F
  static let accelerometer: UInt8 = 0x10
  static let gyroscope: UInt8 = 0x11
  static let control3: UInt8 = 0x12
  static let control8: UInt8 = 0x17
  static let wakeUpSource: UInt8 = 0x1B
  static let temperature: UInt8 = 0x20
  static let gyroscopeOutput: UInt8 = 0x22
  static let accelerometerOutput: UInt8 = 0x28
  static let fifoStatus1: UInt8 = 0x3A
  static let fifoStatus2: UInt8 = 0x3B
  static let tap0: UInt8 = 0x56
  static let tap2: UInt8 = 0x58
  static let wakeUpThreshold: UInt8 = 0x5B
  static let wakeUpDuration: UInt8 = 0x5C
  static let functions1: UInt8 = 0x5E
  static let fifoTag: UInt8 = 0x78
}

/// The registers of an LSM6DSOX or ISM330DHCX: power-down, rates, ranges, the FIFO of tagged words with its overrun,
/// and the latched wake-up interrupt.
public struct LSM6DSOXRegisters<Kind: LSM6DSOXKind>: SimulatedRegisters {
  /// The capacity of 3 KB, in words of seven bytes.
  private static var wordLimit: Int { 438 }

  public static var usualAddress: UInt8 { 0x6A }

  private var registers = LSM6DSOXRegisters.resetRegisters
  // Noise densities from the data sheet: 3.8 mdps/√Hz and 70 µg/√Hz, at a bandwidth of about 100 Hz.
  private var inertia = SimulatedInertia(seed: 66, ratesSigma: 0.04 * .pi / 180, forceSigma: 0.007)
  /// The words in the FIFO, of seven bytes each.
  private var fifo: [[UInt8]] = []
  /// The word that is being read.
  private var word = [UInt8](repeating: 0, count: 7)
  private var hasOverrun = false
  private var wakeUp: SimulatedWakeUp?
  private var measuredAt = MonotonicInstant(nanoseconds: 0)

  public init() {}

  private static var resetRegisters: [UInt8] {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Int(Register.whoAmI)] = Kind.identity
    registers[Int(Register.control3)] = 0x04
    return registers
  }

  /// Reads continue from the last byte of a FIFO word to the tag of the next word.
  public static func next(_ register: UInt8) -> UInt8 {
    register == Register.fifoTag + 6 ? Register.fifoTag : register &+ 1
  }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    guard register < 128, register != Register.whoAmI else { return }
    registers[Int(register)] = value
    switch register {
    case Register.control3 where value & 0x01 != 0: self = LSM6DSOXRegisters()
    case Register.fifoControl4:
      fifo = []
      hasOverrun = false
      inertia.begin(at: value & 0x07 == 0x06 ? now : nil)
    default: break
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    switch register {
    case Register.temperature, Register.temperature + 1: return 0  // 25 degrees Celsius
    case Register.fifoStatus1: return UInt8(truncatingIfNeeded: fifo.count)
    case Register.fifoStatus2:
      defer { hasOverrun = false }
      return (hasOverrun ? 0x48 : 0) | UInt8(fifo.count >> 8)
    case Register.wakeUpSource:
      defer { wakeUp?.forget(at: measuredAt) }
      return wakeUp?.hasMoved == true ? 0x08 : 0
    case Register.fifoTag:
      word = fifo.isEmpty ? [UInt8](repeating: 0, count: 7) : fifo.removeFirst()
      return word[0]
    case Register.fifoTag + 1...Register.fifoTag + 6: return word[Int(register - Register.fifoTag)]
    default: return register < 128 ? registers[Int(register)] : 0
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    measuredAt = now
    // The lowest rate is 12.5 Hz. Each step doubles the rate, with the chip's own rounding.
    let rates: [Double] = [12.5, 26, 52, 104, 208, 416, 833, 1666]
    let code = Int(registers[Int(Register.gyroscope)] >> 4)
    let degreesPerUnit = 8.75e-3 * Double(1 << Int(registers[Int(Register.gyroscope)] >> 2 & 3))
    let gravitiesPerUnit = 0.061e-3 * [1, 8, 2, 4][Int(registers[Int(Register.accelerometer)] >> 2 & 3)]
    let latest = inertia.raw(
      world.truth(at: now), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
    let accelerometerCode = Int(registers[Int(Register.accelerometer)] >> 4)
    if code > 0 { registers.store(lowByteFirst: latest.gyroscope, at: Register.gyroscopeOutput) }
    if accelerometerCode > 0 { registers.store(lowByteFirst: latest.accelerometer, at: Register.accelerometerOutput) }
    let isOn = code == accelerometerCode && rates.indices.contains(code - 1)
    guard isOn, registers[Int(Register.fifoControl3)] == UInt8(code << 4 | code) else { return }
    var words: [[UInt8]] = []
    _ = inertia.takeDue(
      at: now, period: Int64(1e9 / rates[code - 1]), limit: LSM6DSOXRegisters.wordLimit
    ) { number, instant, inertia in
      let raw = inertia.raw(
        world.truth(at: instant), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
      for (kind, axes) in [(UInt8(0x01), raw.gyroscope), (0x02, raw.accelerometer)] {
        let tag = kind << 3 | UInt8(number & 3) << 1
        var word = [tag | UInt8(tag.nonzeroBitCount % 2)]
        word.append(lowByteFirst: axes)
        words.append(word)
      }
    }
    fifo += words
    if fifo.count > LSM6DSOXRegisters.wordLimit {
      fifo.removeFirst(fifo.count - LSM6DSOXRegisters.wordLimit)
      hasOverrun = true
    }
  }

  public var isInterrupting: Bool { wakeUp?.hasMoved == true && registers[Int(Register.functions1)] & 0x20 != 0 }

  public mutating func watch(_ world: World, at now: MonotonicInstant) -> MonotonicInstant? {
    guard let setting = wakeUpSetting else {
      wakeUp = nil
      return nil
    }
    if wakeUp?.isSet(setting) != true { wakeUp = SimulatedWakeUp(setting, at: now) }
    let next = wakeUp?.take(world, until: now)
    return wakeUp?.hasMoved == true ? nil : next
  }

  /// The wake-up settings; `nil` if motion detection is off or its interrupt is not latched.
  private var wakeUpSetting: SimulatedWakeUp.Setting? {
    func bits(_ register: UInt8) -> UInt8 { registers[Int(register)] }
    let rates: [Double] = [12.5, 26, 52, 104, 208, 416, 833, 1666]
    let code = Int(bits(Register.accelerometer) >> 4)
    guard rates.indices.contains(code - 1), bits(Register.tap2) & 0x80 != 0, bits(Register.tap0) & 0x41 == 0x41 else {
      return nil
    }
    let rate = rates[code - 1]
    let fullScale = [2.0, 16, 4, 8][Int(bits(Register.accelerometer) >> 2 & 3)]
    let unit = fullScale / (bits(Register.wakeUpDuration) & 0x10 != 0 ? 256 : 64)
    let divider = [4.0, 10, 20, 45, 100, 200, 400, 800][Int(bits(Register.control8) >> 5)]
    return SimulatedWakeUp.Setting(
      rateHz: rate, threshold: Double(bits(Register.wakeUpThreshold) & 0x3F) * unit,
      cornerHz: bits(Register.tap0) & 0x10 != 0 ? rate / divider : nil)
  }
}
