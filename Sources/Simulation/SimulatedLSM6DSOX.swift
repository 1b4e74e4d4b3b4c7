import Guarding
import HardwareIO
import MonotonicTime

/// An LSM6DSOX at the level of its registers: power-down, rates, ranges, and the FIFO of tagged words with its overrun.
///
/// It has no thread: how many words wait follows from the time at which somebody asks.
public final class SimulatedLSM6DSOX: SimulatedChip {
  private struct State {
    var registers = SimulatedLSM6DSOX.resetRegisters
    // Noise of the data sheet: 3.8 mdps and 70 micro-g to the root of a hertz, at some hundred hertz.
    var inertia = SimulatedInertia(seed: 66, ratesSigma: 0.04 * .pi / 180, forceSigma: 0.007)
    /// Whole words of seven bytes.
    var fifo: [[UInt8]] = []
    /// The one that is being read.
    var word = [UInt8](repeating: 0, count: 7)
    var hasOverrun = false
  }

  /// 3 KB.
  private static let wordLimit = 438

  public let name: String
  public let maximumReadLength = 4096
  public let address: UInt8
  private let world: World
  private let clock: any MonotonicTimeSource
  private let isPowered: @Sendable () -> Bool
  private let state = Guarded(State())

  /// - Parameter isPowered: whether the chip's supply is on; off, it does not answer
  public init(
    name: String, world: World, clock: any MonotonicTimeSource = MonotonicClock(), address: UInt8 = 0x6A,
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
        // From the last byte of a word on to the next one's tag.
        next: { $0 == Register.fifoTag + 6 ? Register.fifoTag : $0 &+ 1 }, write: { write($0, to: $1, &state) },
        beginReading: { fillFIFO(&state) }, read: { read($0, &state) })
    }
  }

  private enum Register {
    static let fifoControl3: UInt8 = 0x09
    static let fifoControl4: UInt8 = 0x0A
    static let whoAmI: UInt8 = 0x0F
    static let accelerometer: UInt8 = 0x10
    static let gyroscope: UInt8 = 0x11
    static let control3: UInt8 = 0x12
    static let temperature: UInt8 = 0x20
    static let fifoStatus1: UInt8 = 0x3A
    static let fifoStatus2: UInt8 = 0x3B
    static let fifoTag: UInt8 = 0x78
  }

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Int(Register.whoAmI)] = 0x6C
    registers[Int(Register.control3)] = 0x04
    return registers
  }()

  private func write(_ value: UInt8, to register: UInt8, _ state: inout State) {
    guard register < 128, register != Register.whoAmI else { return }
    state.registers[Int(register)] = value
    switch register {
    case Register.control3 where value & 0x01 != 0: state = State()
    case Register.fifoControl4:
      state.fifo = []
      state.hasOverrun = false
      state.inertia.begin(at: value & 0x07 == 0x06 ? clock.now : nil)
    default: break
    }
  }

  private func read(_ register: UInt8, _ state: inout State) -> UInt8 {
    switch register {
    case Register.temperature, Register.temperature + 1: return 0  // 25 degrees Celsius
    case Register.fifoStatus1: return UInt8(truncatingIfNeeded: state.fifo.count)
    case Register.fifoStatus2:
      defer { state.hasOverrun = false }
      return (state.hasOverrun ? 0x48 : 0) | UInt8(state.fifo.count >> 8)
    case Register.fifoTag:
      state.word = state.fifo.isEmpty ? [UInt8](repeating: 0, count: 7) : state.fifo.removeFirst()
      return state.word[0]
    case Register.fifoTag + 1...Register.fifoTag + 6: return state.word[Int(register - Register.fifoTag)]
    default: return register < 128 ? state.registers[Int(register)] : 0
    }
  }

  private func fillFIFO(_ state: inout State) {
    // 12.5 Hz, and from there on twice as much with each step, by the chip's own rounding.
    let rates: [Double] = [12.5, 26, 52, 104, 208, 416, 833, 1666]
    let code = Int(state.registers[Int(Register.gyroscope)] >> 4)
    let isOn = code == Int(state.registers[Int(Register.accelerometer)] >> 4) && rates.indices.contains(code - 1)
    guard isOn, state.registers[Int(Register.fifoControl3)] == UInt8(code << 4 | code) else { return }
    let degreesPerUnit = 8.75e-3 * Double(1 << Int(state.registers[Int(Register.gyroscope)] >> 2 & 3))
    let gravitiesPerUnit = 0.061e-3 * [1, 8, 2, 4][Int(state.registers[Int(Register.accelerometer)] >> 2 & 3)]
    var words: [[UInt8]] = []
    _ = state.inertia.takeDue(
      at: clock.now, period: Int64(1e9 / rates[code - 1]), limit: SimulatedLSM6DSOX.wordLimit
    ) { number, instant, inertia in
      let raw = inertia.raw(
        world.truth(at: instant), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
      for (kind, axes) in [(UInt8(0x01), raw.gyroscope), (0x02, raw.accelerometer)] {
        let tag = kind << 3 | UInt8(number & 3) << 1
        words.append([tag | UInt8(tag.nonzeroBitCount % 2)] + axes.flatMap(\.lowByteFirst))
      }
    }
    state.fifo += words
    if state.fifo.count > SimulatedLSM6DSOX.wordLimit {
      state.fifo.removeFirst(state.fifo.count - SimulatedLSM6DSOX.wordLimit)
      state.hasOverrun = true
    }
  }
}
