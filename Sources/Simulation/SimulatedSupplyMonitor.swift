import Guarding
import HardwareIO
import MonotonicTime

/// The 16-bit registers of a kind of supply monitor, and the effects of reading and writing them.
public protocol SimulatedWordRegisters: Sendable {
  /// The usual 7-bit address.
  static var usualAddress: UInt8 { get }
  init()
  /// Starts measuring in the chip's present mode. Called at the first access after the supply has come on.
  mutating func begin(at now: MonotonicInstant)
  mutating func write(_ value: UInt16, to register: UInt8, at now: MonotonicInstant)
  /// Updates the registers with the measurements completed by now. Called before each read.
  mutating func measure(_ supply: SimulatedSupply, noiseScale: Double, at now: MonotonicInstant)
  mutating func read(_ register: UInt8) -> UInt16
}

/// A supply monitor that consists only of its registers, whose high byte comes first. A read does not continue with the
/// next register.
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
    /// The register selected last.
    var pointer: UInt8 = 0
    var hasBegun = false
  }

  /// - Parameters:
  ///   - name: the name of the bus
  ///   - supply: the supply to measure, on the same clock
  ///   - world: determines the amount of noise
  ///   - isPowered: whether the chip has its supply; without it, the chip does not answer
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

  /// Records that the supply has failed, so that the registers are lost.
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
