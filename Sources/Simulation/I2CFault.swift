import HardwareIO

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
