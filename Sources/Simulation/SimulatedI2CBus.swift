import Guarding
import HardwareIO

/// A chip on a simulated bus.
public protocol SimulatedChip: I2CBus {
  /// The 7-bit address.
  var address: UInt8 { get }
}

/// A bus with several chips.
public final class SimulatedI2CBus: I2CBus {
  public let name: String
  public let maximumReadLength = 4096
  private let present: Guarded<Chips>
  private struct Chips {
    var all: [any SimulatedChip]
  }

  private let faults = Guarded<[UInt8: I2CFault]>([:])

  public init(name: String, chips: [any SimulatedChip]) {
    self.name = name
    present = Guarded(Chips(all: chips))
  }

  /// Connects another chip.
  func add(_ chip: any SimulatedChip) { present.withLock { $0.all.append(chip) } }

  /// Injects a fault into the communication with a chip. `nil` removes the fault.
  public func inject(_ fault: I2CFault?, at address: UInt8) { faults.withLock { $0[address] = fault } }

  public func transaction(
    _ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>
  ) throws(HardwareError) {
    let fault = faults.withLock { $0.isEmpty ? nil : $0[address] }
    if let error = fault?.error(bus: name, address: address) { throw error }
    guard let chip = present.withLock({ $0.all.first { $0.address == address } }) else {
      throw .noAcknowledge(bus: name, address: address)
    }
    try chip.transaction(address, operations)
    guard case .stuck(let level) = fault else { return }
    for case .read(let bytes) in operations { bytes.copyBytes(from: repeatElement(level, count: bytes.count)) }
  }
}

extension UnsafeBufferPointer<I2COperation> {
  /// Performs a transaction with registers: the first byte written selects a register, and the following bytes
  /// continue from there.
  ///
  /// - Parameters:
  ///   - next: returns the register after another one
  ///   - beginReading: called before the first byte of each read
  func perform(
    next: (UInt8) -> UInt8, write: (_ value: UInt8, _ register: UInt8) -> Void, beginReading: () -> Void,
    read: (_ register: UInt8) -> UInt8
  ) {
    var register: UInt8 = 0
    for operation in self {
      switch operation {
      case .write(let bytes):
        guard let first = bytes.first else { continue }
        register = first
        for value in bytes.dropFirst() {
          write(value, register)
          register = next(register)
        }
      case .read(let bytes):
        beginReading()
        for index in 0..<bytes.count {
          bytes[index] = read(register)
          register = next(register)
        }
      }
    }
  }
}

/// A fault between a bus and a chip.
public enum I2CFault: Equatable, Sendable {
  case noAcknowledge
  case arbitrationLost
  case timeOut
  /// A hung bus: transactions succeed, but every bit read has the same value.
  case stuck(UInt8)

  /// The error of a transaction; `nil` if the transaction takes place despite the fault.
  func error(bus: String, address: UInt8) -> HardwareError? {
    switch self {
    case .noAcknowledge: .noAcknowledge(bus: bus, address: address)
    case .arbitrationLost: .arbitrationLost(bus: bus, address: address)
    case .timeOut: .timedOut("address 0x\(String(address, radix: 16)) on \(bus)")
    case .stuck: nil
    }
  }
}
