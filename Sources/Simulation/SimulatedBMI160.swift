import MonotonicTime

public typealias SimulatedBMI160 = SimulatedRegisterChip<BMI160Registers>

/// The registers of a BMI160: its commands, rates and ranges, and the FIFO of frames with headers, which counts
/// dropped frames.
public struct BMI160Registers: SimulatedRegisters {
  /// The capacity of 1 KB in frames of thirteen bytes.
  private static let frameLimit = 78

  public static let usualAddress: UInt8 = 0x69

  private var registers = BMI160Registers.resetRegisters
  private var accelerometerIsOn = false
  private var gyroscopeIsOn = false
  // Noise densities from the data sheet: 7 mdps/√Hz and 180 µg/√Hz, at a bandwidth of about 40 Hz.
  private var inertia = SimulatedInertia(seed: 160, ratesSigma: 0.045 * .pi / 180, forceSigma: 0.011)
  private var frames: [[UInt8]] = []
  private var skipped = 0
  /// The rest of the frame that is being read.
  private var frame: ArraySlice<UInt8> = []

  public init() {}

  private enum Register {
    static let chipID: UInt8 = 0x00
    static let gyroscope: UInt8 = 0x0C
    static let accelerometer: UInt8 = 0x12
    static let temperature: UInt8 = 0x20
    static let fifoLength: UInt8 = 0x22
    static let fifoData: UInt8 = 0x24
    static let accelerometerConfiguration: UInt8 = 0x40
    static let accelerometerRange: UInt8 = 0x41
    static let gyroscopeConfiguration: UInt8 = 0x42
    static let gyroscopeRange: UInt8 = 0x43
    static let fifoConfiguration1: UInt8 = 0x47
    static let command: UInt8 = 0x7E
  }

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Int(Register.chipID)] = 0xD1
    registers[Int(Register.accelerometerConfiguration)] = 0x28
    registers[Int(Register.accelerometerRange)] = 0x03
    registers[Int(Register.gyroscopeConfiguration)] = 0x28
    return registers
  }()

  public static func next(_ register: UInt8) -> UInt8 { register == Register.fifoData ? register : register &+ 1 }

  public mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant) {
    guard register < 128, register != Register.chipID else { return }
    guard register == Register.command else { return registers[Int(register)] = value }
    switch value {
    case 0x10: accelerometerIsOn = false
    case 0x11: accelerometerIsOn = true
    case 0x14: gyroscopeIsOn = false
    case 0x15: gyroscopeIsOn = true
    case 0xB0:
      (frames, frame, skipped) = ([], [], 0)
      inertia.begin(at: now)
    case 0xB6: self = BMI160Registers()
    default: break
    }
  }

  public mutating func read(_ register: UInt8) -> UInt8 {
    let length = frames.reduce(0) { $0 + $1.count } + (skipped > 0 ? 2 : 0)
    switch register {
    case Register.temperature, Register.temperature + 1: return 0  // 23 degrees Celsius
    case Register.fifoLength: return UInt8(truncatingIfNeeded: length)
    case Register.fifoLength + 1: return UInt8(length >> 8)
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
    default: return register < 128 ? registers[Int(register)] : 0
    }
  }

  public mutating func measure(_ world: World, at now: MonotonicInstant) {
    let code = registers[Int(Register.gyroscopeConfiguration)] & 0x0F
    let ranges: [UInt8: Double] = [0x03: 2, 0x05: 4, 0x08: 8, 0x0C: 16]
    guard let gravities = ranges[registers[Int(Register.accelerometerRange)]] else { return }
    let degrees = 2000 / Double(1 << Int(registers[Int(Register.gyroscopeRange)] & 0x07))
    let latest = inertia.raw(
      world.truth(at: now), degreesPerUnit: degrees / 32768, gravitiesPerUnit: gravities / 32768)
    if gyroscopeIsOn { registers.store(lowByteFirst: latest.gyroscope, at: Register.gyroscope) }
    if accelerometerIsOn { registers.store(lowByteFirst: latest.accelerometer, at: Register.accelerometer) }
    guard accelerometerIsOn, gyroscopeIsOn, (0x06...0x0C).contains(code),
      registers[Int(Register.accelerometerConfiguration)] & 0x0F == code,
      registers[Int(Register.fifoConfiguration1)] & 0xD0 == 0xD0
    else { return }
    var taken: [[UInt8]] = []
    let lost = inertia.takeDue(
      at: now, period: Int64(1e9 / (25 * Double(1 << Int(code - 6)))), limit: BMI160Registers.frameLimit
    ) { _, instant, inertia in
      let raw = inertia.raw(
        world.truth(at: instant), degreesPerUnit: degrees / 32768, gravitiesPerUnit: gravities / 32768)
      var frame: [UInt8] = [0x8C]
      frame.append(lowByteFirst: raw.gyroscope)
      frame.append(lowByteFirst: raw.accelerometer)
      taken.append(frame)
    }
    frames += taken
    let excess = max(0, frames.count - BMI160Registers.frameLimit)
    frames.removeFirst(excess)
    skipped += lost + excess
  }
}
