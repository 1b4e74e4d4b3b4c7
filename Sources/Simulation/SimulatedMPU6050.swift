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
    /// When the FIFO was switched on, and how many samples have gone in since.
    var fifoStart: MonotonicInstant?
    var sampleCount = 0
    var lostCount = 0
    var fifo: [UInt8] = []
    var hasOverflown = false
    var noise = Noise(seed: 6050)
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
  public var samples: (taken: Int, lost: Int) { state.withLock { ($0.sampleCount, $0.lostCount) } }

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
      var register: UInt8 = 0
      for operation in operations {
        switch operation {
        case .write(let bytes):
          guard let first = bytes.first else { continue }
          register = first
          for value in bytes.dropFirst() {
            write(value, to: register, &state)
            register += 1
          }
        case .read(let bytes):
          fillFIFO(&state)
          for index in 0..<bytes.count {
            bytes[index] = read(register, &state)
            if case .stuck(let value) = state.fault { bytes[index] = value }
            if register != Register.fifo { register &+= 1 }
          }
        }
      }
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
      state.fifoStart = nil
    case Register.userControl:
      if value & 0x04 != 0 {
        state.fifo = []
        state.hasOverflown = false
        state.registers[Int(register)] = value & ~0x04
      }
      state.fifoStart = value & 0x40 != 0 ? clock.now : nil
      state.sampleCount = 0
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
    guard let (start, period) = sampling(state) else { return }
    let due = Int((clock.now - start).inNanoseconds / period)
    // After a long sleep of the reader only the end of what came matters.
    if due - state.sampleCount > 200 {
      state.lostCount += due - 200 - state.sampleCount
      state.sampleCount = due - 200
      state.hasOverflown = true
    }
    while state.sampleCount < due {
      state.sampleCount += 1
      append(sampleAt: start + .nanoseconds(period * Int64(state.sampleCount)), &state)
    }
    if state.fifo.count > 1024 {
      state.hasOverflown = true
      state.lostCount += (state.fifo.count - 1024 + 11) / 12
      state.fifo.removeFirst(state.fifo.count - 1024)
    }
  }

  /// Since when and how often, in nanoseconds, samples go into the FIFO; `nil` while none do.
  private func sampling(_ state: borrowing State) -> (start: MonotonicInstant, period: Int64)? {
    let isAsleep = state.registers[Int(Register.powerManagement1)] & 0x40 != 0
    guard let start = state.fifoStart, !isAsleep, state.registers[Int(Register.fifoEnable)] & 0x78 == 0x78 else {
      return nil
    }
    return (start, Int64(state.registers[Int(Register.divider)]) * 1_000_000 + 1_000_000)
  }

  private func append(sampleAt instant: MonotonicInstant, _ state: inout State) {
    let truth = world.truth(at: instant)
    let gyroscopeRange = Double(250 << Int(state.registers[Int(Register.gyroscopeRange)] >> 3 & 3))
    let accelerometerRange = Double(2 << Int(state.registers[Int(Register.accelerometerRange)] >> 3 & 3))
    // Noise of the product specification: 0.05 degrees per second, 4 mg.
    let rates = (truth.rates + state.noise.vector(0.05 * .pi / 180)) * (180 / .pi * 32768 / gyroscopeRange)
    let force = (truth.specificForce + state.noise.vector(0.04)) * (32768 / (accelerometerRange * 9.80665))
    for value in [force.x, force.y, force.z, rates.x, rates.y, rates.z] {
      let raw = Int16(clamping: Int(value.rounded()))
      state.fifo.append(UInt8(truncatingIfNeeded: raw >> 8))
      state.fifo.append(UInt8(truncatingIfNeeded: raw))
    }
  }
}
