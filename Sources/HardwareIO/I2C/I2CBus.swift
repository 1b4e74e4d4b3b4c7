/// One step of a transaction. The buffers belong to the caller and have to live until the transaction returns.
public enum I2COperation {
  case write(UnsafeRawBufferPointer)
  case read(UnsafeMutableRawBufferPointer)
}

/// An I2C bus. Everything is built on one primitive: an uninterruptible transaction of writes and reads with one
/// address.
public protocol I2CBus: Sendable {
  /// As people know it: `/dev/i2c-1`.
  var name: String { get }
  /// The longest read in one transaction. Drivers that know the chip divide longer reads.
  var maximumReadLength: Int { get }

  /// Has an address to itself among those who ask, in this process and others, for as long as the bus is open.
  func claim(_ address: UInt8) throws(HardwareError)

  /// - Parameter address: 7 bits
  func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError)
}

extension I2CBus {
  /// A bus that no other program can reach.
  public func claim(_ address: UInt8) throws(HardwareError) {}
}
