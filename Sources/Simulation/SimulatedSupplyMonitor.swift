import Guarding
import HardwareIO
import MonotonicTime

/// The registers of a kind of supply monitor, of 16 bits each, and what reading and writing them does.
public protocol SimulatedWordRegisters: Sendable {
  /// 7 bits.
  static var usualAddress: UInt8 { get }
  init()
  /// The supply has come on: registers are as they are then.
  mutating func begin(at now: MonotonicInstant)
  mutating func write(_ value: UInt16, to register: UInt8, at now: MonotonicInstant)
  /// Called before each read: what has been measured by now.
  mutating func measure(_ supply: SimulatedSupply, noiseScale: Double, at now: MonotonicInstant)
  mutating func read(_ register: UInt8) -> UInt16
}

/// A supply monitor that is nothing but its registers, high byte first; reads stay at the register that was named last.
public final class SimulatedSupplyMonitor<Registers: SimulatedWordRegisters>: SimulatedChip {
  public let name: String
  public let maximumReadLength = 4096
  public let address: UInt8
  private let supply: SimulatedSupply
  private let noiseScale: Double
  private let clock: any MonotonicTimeSource
  private let isPowered: @Sendable () -> Bool
  private let interior = Guarded(Interior())

  private struct Interior {
    var registers = Registers()
    /// The register that was named last.
    var pointer: UInt8 = 0
    var hasBegun = false
  }

  /// - Parameters:
  ///   - name: the bus's
  ///   - supply: what it measures; on the same clock
  ///   - world: for how much noise there is
  ///   - isPowered: whether the chip's supply is on; off, it does not answer
  public init(
    name: String, supply: SimulatedSupply, world: World, clock: any MonotonicTimeSource = MonotonicClock(),
    address: UInt8 = Registers.usualAddress, isPowered: @escaping @Sendable () -> Bool
  ) {
    self.name = name
    self.supply = supply
    noiseScale = world.noiseScale
    self.clock = clock
    self.address = address
    self.isPowered = isPowered
  }

  /// The supply has gone: the registers are lost.
  public func lostPower() { interior.withLock { $0 = Interior() } }

  public func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    guard address == self.address, isPowered() else { throw .noAcknowledge(bus: name, address: address) }
    interior.withLock { interior in
      let now = clock.now
      if !interior.hasBegun {
        interior.registers.begin(at: now)
        interior.hasBegun = true
      }
      for operation in operations {
        switch operation {
        case .write(let bytes):
          guard let pointer = bytes.first else { continue }
          interior.pointer = pointer
          guard bytes.count > 2 else { continue }
          interior.registers.write(UInt16(bytes[1]) << 8 | UInt16(bytes[2]), to: pointer, at: now)
        case .read(let bytes):
          interior.registers.measure(supply, noiseScale: noiseScale, at: now)
          let word = interior.registers.read(interior.pointer)
          for index in 0..<bytes.count { bytes[index] = UInt8(truncatingIfNeeded: index % 2 == 0 ? word >> 8 : word) }
        }
      }
    }
  }
}
