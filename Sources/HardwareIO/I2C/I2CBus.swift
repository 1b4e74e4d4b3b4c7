/// One step of a transaction. The caller owns the buffers and must keep them until the transaction returns.
public enum I2COperation {
  case write(UnsafeRawBufferPointer)
  case read(UnsafeMutableRawBufferPointer)
}

/// An I2C bus. Its only transfer is an uninterruptible transaction of writes and reads with a single address.
public protocol I2CBus: Sendable {
  /// The name to show, for example `/dev/i2c-1`.
  var name: String { get }
  /// The longest read in one transaction, in bytes. Drivers of chips divide longer reads.
  var maximumReadLength: Int { get }

  /// Reserves an address until the bus is closed. Until then it is an error to reserve the address again, in this
  /// process or another one.
  func claim(_ address: UInt8) throws(HardwareError)

  /// - Parameter address: the 7-bit address
  func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError)
}

extension I2CBus {
  /// Does nothing, for a bus that no other program can reach.
  public func claim(_ address: UInt8) throws(HardwareError) {}
}
