import Guarding
import HardwareIO
import MonotonicTime

/// An MPU-6050 at the level of its registers, on a bus of its own: sleep bit, divider, ranges, FIFO with overflow.
///
/// It has no thread: how many samples wait follows from the time at which somebody asks.
public final class SimulatedMPU6050: SimulatedChip {
  /// Faults to inject.
  public enum Fault: Equatable, Sendable {
    case noAcknowledge
    case arbitrationLost
    case timeOut
    /// A hung bus: it answers, and every bit is the same.
    case stuck(UInt8)
  }

  private struct State {
    var registers = SimulatedMPU6050.resetRegisters
    // Noise of the product specification: 0.05 degrees per second, 4 mg.
    var inertia = SimulatedInertia(seed: 6050, ratesSigma: 0.05 * .pi / 180, forceSigma: 0.04)
    var lostCount = 0
    var fifo: [UInt8] = []
    var hasOverflown = false
    var fault: Fault?
  }

  public let name: String
  public let maximumReadLength: Int
  public let address: UInt8
  private let world: World
  private let clock: any MonotonicTimeSource
  private let isPowered: @Sendable () -> Bool
  private let state = Guarded(State())

  /// - Parameters:
  ///   - isPowered: whether the chip's supply is on; off, it does not answer and forgets everything
  ///   - maximumReadLength: 32 behaves as an SMBus adapter
  public init(
    name: String, world: World, clock: any MonotonicTimeSource = MonotonicClock(), maximumReadLength: Int = 4096,
    address: UInt8 = 0x68, isPowered: @escaping @Sendable () -> Bool
  ) {
    self.name = name
    self.world = world
    self.clock = clock
    self.maximumReadLength = maximumReadLength
    self.address = address
    self.isPowered = isPowered
  }

  /// Injects a fault, until it is taken back with `nil`.
  public func inject(_ fault: Fault?) { state.withLock { $0.fault = fault } }

  /// When the first sample after an instant becomes ready; `nil` while the chip takes none.
  public func nextSample(after instant: MonotonicInstant) -> MonotonicInstant? {
    state.withLock { state in
      guard let (start, period) = sampling(state) else { return nil }
      let count = max(0, (instant - start).inNanoseconds / period) + 1
      return start + .nanoseconds(period * count)
    }
  }

  /// What has been lost to overflows, and what has gone into the FIFO, since it was switched on.
  public var samples: (taken: Int, lost: Int) { state.withLock { ($0.inertia.sampleCount, $0.lostCount) } }

  /// The supply has gone: registers and FIFO are lost.
  public func lostPower() {
    state.withLock { state in
      let fault = state.fault
      state = State()
      state.fault = fault
    }
  }

  public func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    let error = state.withLock { state -> HardwareError? in
      guard address == self.address, isPowered() else { return .noAcknowledge(bus: name, address: address) }
      switch state.fault {
      case .noAcknowledge: return .noAcknowledge(bus: name, address: address)
      case .arbitrationLost: return .arbitrationLost(bus: name, address: address)
      case .timeOut: return .timedOut("address 0x\(String(address, radix: 16)) on \(name)")
      case .stuck, nil: break
      }
      operations.perform(
        next: { $0 == Register.fifo ? $0 : $0 &+ 1 }, write: { write($0, to: $1, &state) },
        beginReading: { fillFIFO(&state) },
        read: { register in
          let value = read(register, &state)
          return if case .stuck(let stuck) = state.fault { stuck } else { value }
        })
      return nil
    }
    if let error { throw error }
  }

  private enum Register {
    static let divider: UInt8 = 0x19
    static let gyroscopeRange: UInt8 = 0x1B
    static let accelerometerRange: UInt8 = 0x1C
    static let fifoEnable: UInt8 = 0x23
    static let interruptStatus: UInt8 = 0x3A
    static let temperature: UInt8 = 0x41
    static let userControl: UInt8 = 0x6A
    static let powerManagement1: UInt8 = 0x6B
    static let fifoCount: UInt8 = 0x72
    static let fifo: UInt8 = 0x74
    static let whoAmI: UInt8 = 0x75
  }

  private static let resetRegisters: [UInt8] = {
    var registers = [UInt8](repeating: 0, count: 128)
    registers[Int(Register.powerManagement1)] = 0x40
    registers[Int(Register.whoAmI)] = 0x68
    return registers
  }()

  private func write(_ value: UInt8, to register: UInt8, _ state: inout State) {
    guard register < 128, register != Register.whoAmI else { return }
    state.registers[Int(register)] = value
    switch register {
    case Register.powerManagement1 where value & 0x80 != 0:
      state.registers = SimulatedMPU6050.resetRegisters
      state.fifo = []
      state.inertia.begin(at: nil)
    case Register.userControl:
      if value & 0x04 != 0 {
        state.fifo = []
        state.hasOverflown = false
        state.registers[Int(register)] = value & ~0x04
      }
      state.inertia.begin(at: value & 0x40 != 0 ? clock.now : nil)
      state.lostCount = 0
    default: break
    }
  }

  private func read(_ register: UInt8, _ state: inout State) -> UInt8 {
    switch register {
    case Register.interruptStatus:
      defer { state.hasOverflown = false }
      return (state.hasOverflown ? 0x10 : 0) | 0x01
    case Register.temperature: return UInt8(truncatingIfNeeded: SimulatedMPU6050.temperature >> 8)
    case Register.temperature + 1: return UInt8(truncatingIfNeeded: SimulatedMPU6050.temperature)
    case Register.fifoCount: return UInt8(truncatingIfNeeded: state.fifo.count >> 8)
    case Register.fifoCount + 1: return UInt8(truncatingIfNeeded: state.fifo.count)
    case Register.fifo: return state.fifo.isEmpty ? 0xFF : state.fifo.removeFirst()
    default: return register < 128 ? state.registers[Int(register)] : 0xFF
    }
  }

  /// 25 degrees Celsius.
  private static let temperature = Int((25 - 36.53) * 340)

  /// Puts the samples into the FIFO that have been taken since it was looked at last.
  private func fillFIFO(_ state: inout State) {
    guard let (_, period) = sampling(state) else { return }
    let degreesPerUnit = Double(250 << Int(state.registers[Int(Register.gyroscopeRange)] >> 3 & 3)) / 32768
    let gravitiesPerUnit = Double(2 << Int(state.registers[Int(Register.accelerometerRange)] >> 3 & 3)) / 32768
    var bytes: [UInt8] = []
    bytes.reserveCapacity(1024)
    let lost = state.inertia.takeDue(at: clock.now, period: period, limit: 200) { _, instant, inertia in
      let raw = inertia.raw(
        world.truth(at: instant), degreesPerUnit: degreesPerUnit, gravitiesPerUnit: gravitiesPerUnit)
      bytes.append(highByteFirst: raw.accelerometer)
      bytes.append(highByteFirst: raw.gyroscope)
    }
    state.fifo += bytes
    state.lostCount += lost
    if lost > 0 { state.hasOverflown = true }
    if state.fifo.count > 1024 {
      state.hasOverflown = true
      state.lostCount += (state.fifo.count - 1024 + 11) / 12
      state.fifo.removeFirst(state.fifo.count - 1024)
    }
  }

  /// Since when and how often, in nanoseconds, samples go into the FIFO; `nil` while none do.
  private func sampling(_ state: borrowing State) -> (start: MonotonicInstant, period: Int64)? {
    let isAsleep = state.registers[Int(Register.powerManagement1)] & 0x40 != 0
    guard let start = state.inertia.start, !isAsleep, state.registers[Int(Register.fifoEnable)] & 0x78 == 0x78 else {
      return nil
    }
    return (start, Int64(state.registers[Int(Register.divider)]) * 1_000_000 + 1_000_000)
  }
}
