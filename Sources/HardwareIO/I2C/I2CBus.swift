/// One step of a transaction. The buffers belong to the caller and have to live until the transaction returns.
public enum I2COperation {
  case write(UnsafeRawBufferPointer)
  case read(UnsafeMutableRawBufferPointer)
}

/// An I2C bus. Everything is built on one primitive: a transaction of writes and reads to one address that nobody can
/// come between.
public protocol I2CBus: Sendable {
  /// As people know it: `/dev/i2c-1`.
  var name: String { get }
  /// The longest read that one transaction can make; longer ones have to be split by who knows the chip.
  var maximumReadLength: Int { get }

  /// Has an address to itself among those who ask, in this process and others, for as long as the bus is open.
  func claim(_ address: UInt8) throws(HardwareError)

  /// - Parameter address: 7 bits
  func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError)
}

extension I2CBus {
  /// A bus that nobody else can reach.
  public func claim(_ address: UInt8) throws(HardwareError) {}
}
