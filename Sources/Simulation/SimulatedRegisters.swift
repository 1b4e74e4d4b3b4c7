import Guarding
import HardwareIO
import MonotonicTime

/// The registers of a kind of chip, and the effects of reading and writing them.
public protocol SimulatedRegisters: Sendable {
  /// The usual 7-bit address.
  static var usualAddress: UInt8 { get }
  /// Creates the registers with their values after power-on.
  init()
  /// The register after another one in a multi-byte access.
  static func next(_ register: UInt8) -> UInt8
  mutating func write(_ value: UInt8, to register: UInt8, at now: MonotonicInstant)
  /// Updates the registers with the measurements completed by now. Called before the first byte of each read.
  mutating func measure(_ world: World, at now: MonotonicInstant)
  mutating func read(_ register: UInt8) -> UInt8
  /// Whether the interrupt line is high.
  var isInterrupting: Bool { get }
  /// Updates the interrupt line: checks for the event that the line signals, for example motion.
  ///
  /// - Returns: when to look again because the line may rise then; `nil` if it cannot rise before the next access
  mutating func watch(_ world: World, at now: MonotonicInstant) -> MonotonicInstant?
}

/// The defaults for a chip whose interrupt line is not connected.
extension SimulatedRegisters {
  public var isInterrupting: Bool { false }

  public mutating func watch(_ world: World, at now: MonotonicInstant) -> MonotonicInstant? { nil }
}

/// A chip that consists only of its registers.
///
/// The twin has no thread. Each access computes the events since the last access. While the chip's interrupt line is
/// open, a timer runs for the instant at which the line may rise.
public final class SimulatedRegisterChip<Registers: SimulatedRegisters>: SimulatedChip {
  public let name: String
  public let maximumReadLength = 4096
  public let address: UInt8
  private let world: World
  private let clock: any MonotonicTimeSource
  private let isPowered: @Sendable () -> Bool
  private let registers = Guarded(Registers())
  private let interrupt: SimulatedInterrupt?
  private let alarm: Alarm

  /// - Parameters:
  ///   - name: the name of the bus
  ///   - interrupt: the interrupt line
  ///   - isPowered: whether the chip has its supply and nothing disconnects it from the bus; otherwise the chip does
  ///     not answer
  public init(
    name: String, world: World, clock: any MonotonicTimeSource = MonotonicClock(),
    address: UInt8 = Registers.usualAddress, interrupt: SimulatedInterrupt? = nil,
    isPowered: @escaping @Sendable () -> Bool
  ) {
    self.interrupt = interrupt
    self.name = name
    self.world = world
    self.clock = clock
    alarm = Alarm(clock: clock)
    self.address = address
    self.isPowered = isPowered
  }

  /// Reads the registers for another chip in the same package; `nil` without a supply.
  func look<Value>(_ look: (Registers) -> Value) -> Value? { isPowered() ? registers.withLock { look($0) } : nil }

  /// Records that the supply has failed, so that registers and FIFO are lost.
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
      // If the read has released the line, the line falls now, before time advances. It may rise again immediately.
      interrupt?.set(registers.isInterrupting, at: clock.now)
    }
    watch()
  }

  /// Sets the line from the registers, and schedules the next time at which it may change.
  private func watch() {
    guard let interrupt, interrupt.isOpen else { return }
    // The alarm is set outside the lock. If its instant has passed, it runs `watch` again before `set` returns, and
    // `watch` takes the lock.
    alarm.set(asking: { lookAtLine(interrupt) }) { [weak self] in self?.watch() }
  }

  /// Sets the line from the registers. Returns when it may change next.
  private func lookAtLine(_ interrupt: SimulatedInterrupt) -> MonotonicInstant? {
    registers.withLock { registers in
      let now = clock.now
      let next = isPowered() ? registers.watch(world, at: now) : nil
      interrupt.set(registers.isInterrupting, at: now)
      return next
    }
  }
}

/// Computes when a continuously measuring chip has completed its measurements, from its start time and the time of
/// each access.
struct SimulatedMeasurements: Sendable {
  private var start: MonotonicInstant?
  private var count = 0

  /// - Parameter start: the start of measuring; `nil` stops it
  mutating func begin(at start: MonotonicInstant?) {
    self.start = start
    count = 0
  }

  /// When the latest measurement was complete; `nil` if none has been completed since the last call.
  ///
  /// - Parameter period: the period in nanoseconds
  mutating func next(by now: MonotonicInstant, period: Int64) -> MonotonicInstant? {
    guard let start else { return nil }
    let due = Int((now - start).inNanoseconds / period)
    guard due > count else { return nil }
    count = due
    return start + .nanoseconds(period * Int64(due))
  }
}

extension Range<Int64> {
  /// Returns the first number for which `holds` is false. `holds` must be true for all smaller numbers and false for
  /// all larger numbers. If `holds` is true for all numbers, returns the last number.
  ///
  /// The twins use this to find the raw value of a measurement whose formula has no inverse.
  func bisect(_ holds: (Int64) -> Bool) -> Int64 {
    var low = lowerBound - 1
    var high = upperBound - 1
    while high - low > 1 {
      let middle = low + (high - low) / 2
      if holds(middle) { low = middle } else { high = middle }
    }
    return high
  }
}
