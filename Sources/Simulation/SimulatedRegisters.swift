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
  /// Whether its interrupt line is high.
  var isInterrupting: Bool { get }
  /// Has found by itself by now what it looks for, if anything.
  ///
  /// - Returns: when to look again, as its line may rise then; `nil` where it will not, unless somebody writes or reads
  mutating func watch(_ world: World, at now: MonotonicInstant) -> MonotonicInstant?
}

/// Of a chip whose interrupt line nobody has wired.
extension SimulatedRegisters {
  public var isInterrupting: Bool { false }

  public mutating func watch(_ world: World, at now: MonotonicInstant) -> MonotonicInstant? { nil }
}

/// A chip that is nothing but its registers.
///
/// It has no thread: what waits in it follows from the time at which somebody asks. While its interrupt line is open there is a timer,
/// for the instant at which that may rise.
public final class SimulatedRegisterChip<Registers: SimulatedRegisters>: SimulatedChip {
  public let name: String
  public let maximumReadLength = 4096
  public let address: UInt8
  private let world: World
  private let clock: any MonotonicTimeSource
  private let isPowered: @Sendable () -> Bool
  private let registers = Guarded(Registers())
  private let interrupt: SimulatedInterrupt?
  private let timer = Guarded(Timer())

  private struct Timer {
    var action: ScheduledAction?
    /// Of the last look at what has been found: what an earlier one has scheduled is out of date.
    var look = 0
  }

  /// - Parameters:
  ///   - name: the bus's
  ///   - interrupt: the line that it raises
  ///   - isPowered: whether the chip's supply is on, and nothing keeps it off the bus; otherwise it does not answer
  public init(
    name: String, world: World, clock: any MonotonicTimeSource = MonotonicClock(),
    address: UInt8 = Registers.usualAddress, interrupt: SimulatedInterrupt? = nil,
    isPowered: @escaping @Sendable () -> Bool
  ) {
    self.interrupt = interrupt
    self.name = name
    self.world = world
    self.clock = clock
    self.address = address
    self.isPowered = isPowered
  }

  /// What the registers say to another chip; `nil` without a supply.
  func look<Value>(_ look: (Registers) -> Value) -> Value? { isPowered() ? registers.withLock { look($0) } : nil }

  /// The supply has gone: registers and FIFO are lost.
  public func lostPower() {
    registers.withLock { $0 = Registers() }
    watch()
  }

  public func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    guard address == self.address, isPowered() else { throw .noAcknowledge(bus: name, address: address) }
    registers.withLock { registers in
      operations.perform(
        next: Registers.next, write: { registers.write($0, to: $1, at: clock.now) },
        beginReading: { registers.measure(world, at: clock.now) }, read: { registers.read($0) })
      // Before any time has passed: a line that was held until it was read falls, however soon it rises again.
      interrupt?.set(registers.isInterrupting, at: clock.now)
    }
    watch()
  }

  /// Has the line be as the registers have it, now and at the next instant at which that may change.
  private func watch() {
    guard let interrupt, interrupt.isOpen else { return }
    let (next, look, overtaken) = registers.withLock { registers -> (MonotonicInstant?, Int, ScheduledAction?) in
      let now = clock.now
      let next = isPowered() ? registers.watch(world, at: now) : nil
      interrupt.set(registers.isInterrupting, at: now)
      return timer.withLock { timer -> (MonotonicInstant?, Int, ScheduledAction?) in
        timer.look += 1
        defer { timer.action = nil }
        return (next, timer.look, timer.action)
      }
    }
    overtaken?.cancel()
    guard let next else { return }
    // Outside of the locks: where the instant is past by now this looks again before it returns.
    let scheduled = clock.schedule(at: next) { [weak self] in self?.watch() }
    let isLatest = timer.withLock { timer in
      if timer.look == look { timer.action = scheduled }
      return timer.look == look
    }
    if !isLatest { scheduled.cancel() }
  }
}
