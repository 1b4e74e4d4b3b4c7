import HardwareIO

/// What may go wrong between a bus and a chip.
public enum I2CFault: Equatable, Sendable {
  case noAcknowledge
  case arbitrationLost
  case timeOut
  /// A hung bus: it answers, and every bit is the same.
  case stuck(UInt8)

  /// `nil` where the transaction takes place all the same.
  func error(bus: String, address: UInt8) -> HardwareError? {
    switch self {
    case .noAcknowledge: .noAcknowledge(bus: bus, address: address)
    case .arbitrationLost: .arbitrationLost(bus: bus, address: address)
    case .timeOut: .timedOut("address 0x\(String(address, radix: 16)) on \(bus)")
    case .stuck: nil
    }
  }
}
