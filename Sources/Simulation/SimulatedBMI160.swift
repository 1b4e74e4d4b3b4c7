import Guarding
import HardwareIO
import MonotonicTime

/// A BMI160 at the level of its registers: its commands, rates and ranges, and the FIFO of frames with headers, which says how
/// many it has dropped.
///
/// It has no thread: how many frames wait follows from the time at which somebody asks.
public final class SimulatedBMI160: SimulatedChip {
  private struct State {
    var registers = SimulatedBMI160.resetRegisters
    var accelerometerIsOn = false
    var gyroscopeIsOn = false
    // Noise of the data sheet: 7 mdps and 180 micro-g to the root of a hertz, at some forty hertz.
    var inertia = SimulatedInertia(seed: 160, ratesSigma: 0.045 * .pi / 180, forceSigma: 0.011)
    var frames: [[UInt8]] = []
    var skipped = 0
    /// What is left of the frame that is being read.
    var frame: ArraySlice<UInt8> = []
  }

  /// 1 KB of thirteen bytes each.
  private static let frameLimit = 78

  public let name: String
  public let maximumReadLength = 4096
  public let address: UInt8
  private let world: World
  private let clock: any MonotonicTimeSource
  private let isPowered: @Sendable () -> Bool
  private let state = Guarded(State())

  /// - Parameter isPowered: whether the chip's supply is on; off, it does not answer
  public init(
    name: String, world: World, clock: any MonotonicTimeSource = MonotonicClock(), address: UInt8 = 0x69,
    isPowered: @escaping @Sendable () -> Bool
  ) {
    self.name = name
    self.world = world
    self.clock = clock
    self.address = address
    self.isPowered = isPowered
  }

  /// The supply has gone: registers and FIFO are lost.
  public func lostPower() { state.withLock { $0 = State() } }

  public func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    guard address == self.address, isPowered() else { throw .noAcknowledge(bus: name, address: address) }
    state.withLock { state in
      operations.perform(
        next: { $0 == Register.fifoData ? $0 : $0 &+ 1 }, write: { write($0, to: $1, &state) },
        beginReading: { fillFIFO(&state) }, read: { read($0, &state) })
    }
  }

  private enum Register {
    static let chipID: UInt8 = 0x00
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

  private func write(_ value: UInt8, to register: UInt8, _ state: inout State) {
    guard register < 128, register != Register.chipID else { return }
    guard register == Register.command else { return state.registers[Int(register)] = value }
    switch value {
    case 0x10: state.accelerometerIsOn = false
    case 0x11: state.accelerometerIsOn = true
    case 0x14: state.gyroscopeIsOn = false
    case 0x15: state.gyroscopeIsOn = true
    case 0xB0:
      (state.frames, state.frame, state.skipped) = ([], [], 0)
      state.inertia.begin(at: clock.now)
    case 0xB6: state = State()
    default: break
    }
  }

  private func read(_ register: UInt8, _ state: inout State) -> UInt8 {
    let length = state.frames.reduce(0) { $0 + $1.count } + (state.skipped > 0 ? 2 : 0)
    switch register {
    case Register.temperature, Register.temperature + 1: return 0  // 23 degrees Celsius
    case Register.fifoLength: return UInt8(truncatingIfNeeded: length)
    case Register.fifoLength + 1: return UInt8(length >> 8)
    case Register.fifoData:
      if state.frame.isEmpty {
        if state.skipped > 0 {
          state.frame = [0x40, UInt8(min(state.skipped, 255))]
          state.skipped = 0
        } else {
          state.frame = state.frames.isEmpty ? [0x80] : state.frames.removeFirst()[...]
        }
      }
      return state.frame.removeFirst()
    default: return register < 128 ? state.registers[Int(register)] : 0
    }
  }

  private func fillFIFO(_ state: inout State) {
    let code = state.registers[Int(Register.gyroscopeConfiguration)] & 0x0F
    let ranges: [UInt8: Double] = [0x03: 2, 0x05: 4, 0x08: 8, 0x0C: 16]
    guard state.accelerometerIsOn, state.gyroscopeIsOn, (0x06...0x0C).contains(code),
      state.registers[Int(Register.accelerometerConfiguration)] & 0x0F == code,
      state.registers[Int(Register.fifoConfiguration1)] & 0xD0 == 0xD0,
      let gravities = ranges[state.registers[Int(Register.accelerometerRange)]]
    else { return }
    let degrees = 2000 / Double(1 << Int(state.registers[Int(Register.gyroscopeRange)] & 0x07))
    var frames: [[UInt8]] = []
    let lost = state.inertia.takeDue(
      at: clock.now, period: Int64(1e9 / (25 * Double(1 << Int(code - 6)))), limit: SimulatedBMI160.frameLimit
    ) { _, instant, inertia in
      let raw = inertia.raw(
        world.truth(at: instant), degreesPerUnit: degrees / 32768, gravitiesPerUnit: gravities / 32768)
      frames.append([0x8C] + (raw.gyroscope + raw.accelerometer).flatMap(\.lowByteFirst))
    }
    state.frames += frames
    let excess = max(0, state.frames.count - SimulatedBMI160.frameLimit)
    state.frames.removeFirst(excess)
    state.skipped += lost + excess
  }
}
