import Guarding
import HardwareIO
import Publishing
import Simulation
import TestSupport

/// Simulated hardware with power lines and buses that fail, hang or are in use as a test specifies. It records the
/// levels that the lines really have.
final class FaultyHardware: Hardware {
  enum Fault: Equatable {
    /// The chip does not exist.
    case missing
    /// The kernel refuses to drive the line low this many times.
    case refusesLow(times: Int)
    /// Each call hangs until the test removes the fault.
    case hangs
  }

  private struct State {
    var lines: [String: Fault] = [:]
    /// The addresses at which a transaction hangs.
    var hangingAddresses: Set<UInt8> = []
    /// The addresses that another program uses.
    var usedAddresses: Set<UInt8> = []
    /// The number of calls that hang.
    var hangCount = 0
    /// The number of completed transactions by address.
    var ended: [UInt8: Int] = [:]
  }

  let simulated: SimulatedHardware
  /// Each level that a line was driven to, oldest first, for example `imu-power true`.
  let levels = Recorder<String>()
  private let state = Guarded(State())
  private let hanging = MutableProperty(0)
  /// Reports each completed transaction.
  private let transactions = News()

  init(_ simulated: SimulatedHardware = SimulatedHardware()) { self.simulated = simulated }

  /// How many calls hang.
  var hangCounts: Property<Int> { hanging.readOnly }
  var hangCount: Int { hanging.value }

  private func changeHangCount(by difference: Int) {
    let mustDeliver = state.withLock { state in
      state.hangCount += difference
      return hanging.stage(state.hangCount)
    }
    if mustDeliver { hanging.deliver() }
  }

  /// The number of completed transactions with a chip.
  func transactionCount(at address: UInt8) -> Int { state.withLock { $0.ended[address] ?? 0 } }

  /// Blocks until a chip has completed a number of transactions.
  ///
  /// - Returns: whether it had before the deadline of a test
  func waits(forTransactions count: Int, at address: UInt8) -> Bool {
    transactions.waits { transactionCount(at: address) >= count }
  }

  fileprivate func ended(at address: UInt8) {
    state.withLock { $0.ended[address, default: 0] += 1 }
    transactions.came()
  }

  func set(_ fault: Fault?, line: String) { state.withLock { $0.lines[line] = fault } }

  func setHangs(_ hangs: Bool, at address: UInt8) {
    state.withLock { state in
      if hangs { state.hangingAddresses.insert(address) } else { state.hangingAddresses.remove(address) }
    }
  }

  func setInUse(_ isInUse: Bool, at address: UInt8) {
    state.withLock { state in
      if isInUse { state.usedAddresses.insert(address) } else { state.usedAddresses.remove(address) }
    }
  }

  fileprivate func claim(_ address: UInt8) throws(HardwareError) {
    if state.withLock({ $0.usedAddresses.contains(address) }) {
      throw .inUse("address 0x\(String(address, radix: 16))", holder: "another program")
    }
  }

  /// The last level of a line; `nil` before it was driven.
  func level(of line: String) -> Bool? { FaultyHardware.level(of: line, in: levels.values) }

  /// Blocks until a line has a level.
  ///
  /// - Returns: whether the line had the level before the deadline of a test
  func waits(for level: Bool, of line: String) -> Bool {
    levels.waits { FaultyHardware.level(of: line, in: $0) == level }
  }

  private static func level(of line: String, in levels: [String]) -> Bool? {
    levels.last { $0.hasPrefix("\(line) ") }?.hasSuffix(" true")
  }

  fileprivate func drive(_ line: String, low: Bool) throws(HardwareError) {
    if state.withLock({ $0.lines[line] }) == .hangs {
      changeHangCount(by: 1)
      hold { self.state.withLock { $0.lines[line] } != .hangs }
      changeHangCount(by: -1)
    }
    let isRefused = state.withLock { state in
      guard low, case .refusesLow(let times) = state.lines[line], times > 0 else { return false }
      state.lines[line] = .refusesLow(times: times - 1)
      return true
    }
    if isRefused { throw .system("driving GPIO line \(line)", errno: 5) }
  }

  fileprivate func holdAt(_ address: UInt8) {
    guard state.withLock({ $0.hangingAddresses.contains(address) }) else { return }
    changeHangCount(by: 1)
    hold { self.state.withLock { !$0.hangingAddresses.contains(address) } }
    changeHangCount(by: -1)
  }

  func i2cBus(_ name: String) throws(HardwareError) -> any I2CBus {
    HangingBus(bus: try simulated.i2cBus(name), hardware: self)
  }

  func serialPort(_ name: String, speed: BaudRate) throws(HardwareError) -> any SerialPort {
    try simulated.serialPort(name, speed: speed)
  }

  func checkSerialPort(_ name: String) throws(HardwareError) { try simulated.checkSerialPort(name) }

  func gpioOutput(_ name: GPIOLineName, activeLow: Bool) throws(HardwareError) -> any GPIOOutput {
    if state.withLock({ $0.lines[name.line] }) == .missing { throw .notFound("GPIO chip '\(name.chip)'") }
    // Requesting a line as an output drives it low.
    try drive(name.line, low: true)
    return FaultyLine(
      name: name.line, line: try simulated.gpioOutput(name, activeLow: activeLow), hardware: self)
  }

  func gpioEdges(_ name: GPIOLineName, falling: Bool) throws(HardwareError) -> any GPIOEdgeInput {
    try simulated.gpioEdges(name, falling: falling)
  }
}

private struct FaultyLine: GPIOOutput {
  let name: String
  let line: any GPIOOutput
  let hardware: FaultyHardware

  func set(_ level: Bool) throws(HardwareError) {
    try hardware.drive(name, low: !level)
    try line.set(level)
    hardware.levels.append("\(name) \(level)")
  }

  func close() throws(HardwareError) {
    try hardware.drive(name, low: true)
    try line.close()
    hardware.levels.append("\(name) false")
  }
}

private struct HangingBus: I2CBus {
  let bus: any I2CBus
  let hardware: FaultyHardware

  var name: String { bus.name }
  var maximumReadLength: Int { bus.maximumReadLength }
  func claim(_ address: UInt8) throws(HardwareError) {
    try hardware.claim(address)
    try bus.claim(address)
  }

  func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    hardware.holdAt(address)
    defer { hardware.ended(at: address) }
    try bus.transaction(address, operations)
  }
}
