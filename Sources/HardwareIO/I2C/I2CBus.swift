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

/// The registers of one chip on a bus. The buffers for reading and writing are allocated once.
public final class I2CRegisters {
  public let bus: any I2CBus
  public let address: UInt8
  private let command: UnsafeMutableRawBufferPointer
  private let buffer: UnsafeMutableRawBufferPointer
  private let operations: UnsafeMutableBufferPointer<I2COperation>

  /// - Parameter capacity: the longest read in bytes
  public init(_ bus: any I2CBus, address: UInt8, capacity: Int) {
    self.bus = bus
    self.address = address
    command = .allocate(byteCount: 3, alignment: 1)
    buffer = .allocate(byteCount: capacity, alignment: 8)
    operations = .allocate(capacity: 2)
    operations.initialize(repeating: .write(UnsafeRawBufferPointer(rebasing: command[..<1])))
  }

  deinit {
    command.deallocate()
    buffer.deallocate()
    operations.deallocate()
  }

  public func write(_ value: UInt8, to register: UInt8) throws(HardwareError) {
    command[0] = register
    command[1] = value
    operations[0] = .write(UnsafeRawBufferPointer(rebasing: command[..<2]))
    try transfer(operationCount: 1)
  }

  /// Writes a 16-bit register, most significant byte first.
  public func writeWord(_ value: UInt16, to register: UInt8) throws(HardwareError) {
    command[0] = register
    command[1] = UInt8(value >> 8)
    command[2] = UInt8(value & 0xFF)
    operations[0] = .write(UnsafeRawBufferPointer(command))
    try transfer(operationCount: 1)
  }

  /// Sends a single byte to a chip that has commands instead of registers.
  public func send(_ byte: UInt8) throws(HardwareError) {
    command[0] = byte
    operations[0] = .write(UnsafeRawBufferPointer(rebasing: command[..<1]))
    try transfer(operationCount: 1)
  }

  public func read(_ register: UInt8) throws(HardwareError) -> UInt8 { try read(register, count: 1)[0] }

  /// Reads a 16-bit register, most significant byte first. Both bytes come from one read, because a second read would
  /// start with the first byte again.
  public func readWord(_ register: UInt8) throws(HardwareError) -> UInt16 {
    try read(register, into: 0, 2)
    return UInt16(buffer[0]) << 8 | UInt16(buffer[1])
  }

  /// Reads consecutive registers. The returned bytes are valid until the next call.
  public func read(_ register: UInt8, count: Int) throws(HardwareError) -> UnsafeRawBufferPointer {
    var offset = 0
    while offset < count {
      let length = min(count - offset, bus.maximumReadLength)
      try read(register + UInt8(offset), into: offset, length)
      offset += length
    }
    return UnsafeRawBufferPointer(rebasing: buffer[..<count])
  }

  /// Reads a register repeatedly, as FIFO ports require. The bytes are valid until the next call.
  ///
  /// A read that lost arbitration is not repeated, because the chip gives each byte only once.
  ///
  /// - Parameter unit: a read never ends inside a unit of this number of bytes, even if the bus allows only short reads
  public func readPort(_ register: UInt8, count: Int, unit: Int) throws(HardwareError) -> UnsafeRawBufferPointer {
    let longest = bus.maximumReadLength / unit * unit
    var offset = 0
    while offset < count {
      let length = min(count - offset, longest)
      try read(register, into: offset, length, tries: 1)
      offset += length
    }
    return UnsafeRawBufferPointer(rebasing: buffer[..<count])
  }

  private func read(_ register: UInt8, into offset: Int, _ length: Int, tries: Int = 3) throws(HardwareError) {
    command[0] = register
    operations[0] = .write(UnsafeRawBufferPointer(rebasing: command[..<1]))
    operations[1] = .read(UnsafeMutableRawBufferPointer(rebasing: buffer[offset..<offset + length]))
    try transfer(operationCount: 2, tries: tries)
  }

  /// Performs a transaction, and repeats it if it lost arbitration. On a bus with two controllers lost arbitration is
  /// normal, and the other controller soon finishes.
  private func transfer(operationCount: Int, tries: Int = 3) throws(HardwareError) {
    let operations = UnsafeBufferPointer(rebasing: operations[..<operationCount])
    for _ in 1..<tries {
      do throws(HardwareError) {
        return try bus.transaction(address, operations)
      } catch .arbitrationLost {
        continue
      }
    }
    try bus.transaction(address, operations)
  }
}
