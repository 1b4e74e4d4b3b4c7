import HardwareIO

/// A chip on a simulated bus, at the level of its registers.
public protocol SimulatedChip: I2CBus {
  /// 7 bits.
  var address: UInt8 { get }
}

/// A bus with several chips.
final class SimulatedI2CBus: I2CBus {
  let name: String
  let maximumReadLength = 4096
  private let chips: [any SimulatedChip]

  init(name: String, chips: [any SimulatedChip]) {
    self.name = name
    self.chips = chips
  }

  func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    guard let chip = chips.first(where: { $0.address == address }) else {
      throw .noAcknowledge(bus: name, address: address)
    }
    try chip.transaction(address, operations)
  }
}
