import Guarding
import HardwareIO
import MonotonicTime

/// The registers of a kind of chip, and what reading and writing them does.
public protocol SimulatedRegisters: Sendable {
  /// 7 bits.
  static var usualAddress: UInt8 { get }
  /// As they are when the supply comes on.
  init()
  /// The register behind another one.
  static func next(_ register: UInt8) -> UInt8
  mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant)
  /// Called before the first byte of each read: what has been measured by now.
  mutating func measure(_ world: World, at now: MonotonicInstant)
  mutating func read(_ register: UInt8) -> UInt8
}

/// A chip that is nothing but its registers.
///
/// It has no thread: what waits in it follows from the time at which somebody asks.
public final class SimulatedRegisterChip<Registers: SimulatedRegisters>: SimulatedChip {
  public let name: String
  public let maximumReadLength = 4096
  public let address: UInt8
  private let world: World
  private let clock: any MonotonicTimeSource
  private let isPowered: @Sendable () -> Bool
  private let registers = Guarded(Registers())

  /// - Parameters:
  ///   - name: the bus's
  ///   - isPowered: whether the chip's supply is on, and nothing keeps it off the bus; otherwise it does not answer
  public init(
    name: String, world: World, clock: any MonotonicTimeSource = MonotonicClock(),
    address: UInt8 = Registers.usualAddress, isPowered: @escaping @Sendable () -> Bool
  ) {
    self.name = name
    self.world = world
    self.clock = clock
    self.address = address
    self.isPowered = isPowered
  }

  /// What the registers say to another chip; `nil` without a supply.
  func look<Value>(_ look: (Registers) -> Value) -> Value? { isPowered() ? registers.withLock { look($0) } : nil }

  /// The supply has gone: registers and FIFO are lost.
  public func lostPower() { registers.withLock { $0 = Registers() } }

  public func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    guard address == self.address, isPowered() else { throw .noAcknowledge(bus: name, address: address) }
    registers.withLock { registers in
      operations.perform(
        next: Registers.next, write: { registers.write($0, to: $1, at: clock.now) },
        beginReading: { registers.measure(world, at: clock.now) }, read: { registers.read($0) })
    }
  }
}
