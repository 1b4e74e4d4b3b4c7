import CI2C
import CLinux
import Glibc
import Guarding

/// An I2C bus of the kernel, /dev/i2c-N.
///
/// Transactions use `I2C_RDWR` if the adapter supports it, otherwise libi2c's SMBus calls with reads of up to 32 bytes.
public final class LinuxI2CBus: I2CBus {
  public let name: String
  public let maximumReadLength: Int
  private let isPlainI2C: Bool
  private let descriptor: Int32
  /// A bit for each address. It is set once a check has found that no kernel driver uses the address.
  private let free = Guarded(InlineArray<2, UInt64>(repeating: 0))
  /// Serializes SMBus calls, which take their address from the descriptor and so must not overlap.
  private let smbus = Guarded<UInt8?>(nil)

  /// - Parameter name: `/dev/i2c-1`, or just `i2c-1`
  public init(_ name: String) throws(HardwareError) {
    let path = name.hasPrefix("/") ? name : "/dev/\(name)"
    self.name = path
    let descriptor = open(path, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { throw .opening("I2C bus \(path)", errno, group: "i2c", missing: .i2cBus) }
    var functions: UInt = 0
    let result = ci2c_functions(descriptor, &functions)
    guard result == 0 else {
      close(descriptor)
      throw .unsupported("\(path) is not an I2C bus: \(String(cString: strerror(-result)))")
    }
    isPlainI2C = functions & ci2c_func_i2c != 0
    guard isPlainI2C || functions & ci2c_func_read_block != 0 else {
      close(descriptor)
      throw .unsupported("\(path) can transfer neither plain I2C messages nor SMBus blocks")
    }
    // The bcm2835 driver reads up to 65,535 bytes; other drivers read fewer. No FIFO of a supported chip is longer than
    // 4,096.
    maximumReadLength = isPlainI2C ? 4096 : 32
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Locks the byte of the device file whose offset is the address, because the kernel itself lets several programs use
  /// the same address.
  public func claim(_ address: UInt8) throws(HardwareError) {
    let result = clinux_lock_byte(descriptor, Int64(address))
    switch -result {
    case 0: try requireFree(address)
    case EAGAIN, EACCES:
      throw .inUse(
        "address 0x\(String(address, radix: 16)) on \(name)", holder: FileHolder.findOther(name),
        shownBy: FileHolder.command(name))
    case let errno: throw .system("claiming 0x\(String(address, radix: 16)) on \(name)", errno: errno)
    }
  }

  public func transaction(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) throws(HardwareError) {
    try requireFree(address)
    let result = isPlainI2C ? transfer(address, operations) : smbusTransfer(address, operations)
    if result < 0 { throw error(-result, address) }
  }

  /// Throws if a kernel driver uses the chip. The kernel lets programs send plain I2C to such a chip.
  private func requireFree(_ address: UInt8) throws(HardwareError) {
    let (word, bit) = (Int(address >> 6 & 1), UInt64(1) << UInt64(address & 0x3F))
    if free.withLock({ $0[word] & bit != 0 }) { return }
    if let driver = kernelDriver(of: address) { throw .busy(bus: name, address: address, driver: driver) }
    free.withLock { $0[word] |= bit }
  }

  /// Returns the name of the kernel driver that uses an address, if any.
  private func kernelDriver(of address: UInt8) -> String? {
    let digits = String(address, radix: 16)
    guard let number = (Files.resolved(name) ?? name).split(separator: "-").last,
      let path = Files.resolved(
        "/sys/bus/i2c/devices/\(number)-\(String(repeating: "0", count: 4 - digits.count))\(digits)/driver")
    else { return nil }
    return path.split(separator: "/").last.map(String.init)
  }

  private func transfer(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) -> Int32 {
    var messages = InlineArray<4, i2c_msg>(repeating: i2c_msg())
    guard operations.count <= 4 else { return -EINVAL }
    for index in 0..<operations.count {
      switch operations[index] {
      case .write(let bytes):
        // The kernel only reads from the buffer of a write, although its structure cannot say so.
        let base = UnsafeMutableRawPointer(mutating: bytes.baseAddress)
        messages[index] = message(address, 0, base, bytes.count)
      case .read(let bytes): messages[index] = message(address, ci2c_message_read, bytes.baseAddress, bytes.count)
      }
    }
    return withUnsafeMutablePointer(to: &messages) { pointer in
      pointer.withMemoryRebound(to: i2c_msg.self, capacity: 4) {
        ci2c_transfer(descriptor, $0, UInt32(operations.count))
      }
    }
  }

  private func message(_ address: UInt8, _ flags: UInt16, _ base: UnsafeMutableRawPointer?, _ count: Int) -> i2c_msg {
    i2c_msg(
      addr: UInt16(address), flags: flags, len: UInt16(count), buf: base?.assumingMemoryBound(to: UInt8.self))
  }

  /// Performs one of the patterns that SMBus supports: sending a command, writing registers, reading registers, or
  /// reading a single byte without a register number.
  private func smbusTransfer(_ address: UInt8, _ operations: UnsafeBufferPointer<I2COperation>) -> Int32 {
    smbus.withLock { current in
      if current != address {
        let result = ci2c_set_address(descriptor, UInt16(address))
        if result < 0 { return result }
        current = address
      }
      guard case .write(let command)? = operations.first, let register = command.first else {
        guard operations.count == 1, case .read(let bytes)? = operations.first, bytes.count == 1 else {
          return -EOPNOTSUPP
        }
        let value = ci2c_read_byte(descriptor)
        if value >= 0 { bytes[0] = UInt8(value) }
        return min(value, 0)
      }
      if operations.count == 1 { return smbusWrite(register, command) }
      guard operations.count == 2, command.count == 1, case .read(let bytes) = operations[1], bytes.count <= 32 else {
        return -EOPNOTSUPP
      }
      let count = ci2c_read_block(
        descriptor, register, UInt8(bytes.count), bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
      // The call may return fewer bytes than requested without reporting an error.
      return count < 0 ? count : (Int(count) == bytes.count ? 0 : -EIO)
    }
  }

  private func smbusWrite(_ register: UInt8, _ command: UnsafeRawBufferPointer) -> Int32 {
    switch command.count {
    case 1: return ci2c_write_byte(descriptor, register)
    case 2: return ci2c_write_byte_data(descriptor, register, command[1])
    case 3...33:
      let values = command.baseAddress?.advanced(by: 1).assumingMemoryBound(to: UInt8.self)
      return ci2c_write_block(descriptor, register, UInt8(command.count - 1), values)
    default: return -EOPNOTSUPP
    }
  }

  private func error(_ errno: Int32, _ address: UInt8) -> HardwareError {
    switch errno {
    // Which of these two errors means a missing acknowledge depends on the adapter's driver.
    case ENXIO, EREMOTEIO: .noAcknowledge(bus: name, address: address)
    case EAGAIN: .arbitrationLost(bus: name, address: address)
    case ETIMEDOUT: .timedOut("address 0x\(String(address, radix: 16)) on \(name)")
    case EBUSY: .busy(bus: name, address: address, driver: kernelDriver(of: address))
    case ENODEV, ESHUTDOWN: .disconnected(name)
    default: .system("transfer to 0x\(String(address, radix: 16)) on \(name)", errno: errno)
    }
  }
}

/// Finds I2C buses by the names that the kernel gives them.
extension MachineFiles {
  /// The I2C buses that programs may use, in order of their numbers: `/dev/i2c-1`.
  ///
  /// Only names of the kernel's form count, because another name with this prefix may be another kind of file.
  public var i2cBuses: [String] {
    names(in: "/dev").compactMap(MachineFiles.number(ofI2CBus:)).sorted().map { "/dev/i2c-\($0)" }
  }

  /// Returns the number in a name like `/dev/i2c-1`, or `nil` for other names.
  public static func number(ofI2CBus path: String) -> Int? {
    guard let name = path.split(separator: "/").last, name.hasPrefix("i2c-") else { return nil }
    let digits = name.dropFirst("i2c-".count)
    return digits.allSatisfy { "0"..."9" ~= $0 } ? Int(digits) : nil
  }
}

extension MachineFiles {
  /// Returns the clock rate of an I2C bus according to the device tree, or `nil` if it is not stated there.
  ///
  /// - Parameter bus: `/dev/i2c-1`, or a link to it
  public func hertz(ofI2CBus bus: String) -> Double? {
    guard let name = (resolved(bus) ?? bus).split(separator: "/").last, name.hasPrefix("i2c-"),
      // The property is a cell of the device tree: four bytes, the most significant first.
      let cell = bytes(of: "/sys/bus/i2c/devices/\(name)/of_node/clock-frequency"), cell.count == 4
    else { return nil }
    let hertz = cell.reduce(0) { $0 << 8 | Int($1) }
    return hertz > 0 ? Double(hertz) : nil
  }
}
