/// A serial line to a receiver, opened for exclusive use, or a network connection that takes its place.
public protocol SerialPort: Sendable {
  /// The name to show, for example `/dev/ttyAMA0`.
  var name: String { get }
  /// The file descriptor for `poll`. It is readable when bytes wait or the line has hung up.
  var fileDescriptor: Int32 { get }

  /// Reads the bytes that have arrived, without blocking. Returns 0 if there are none.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int
  func write(_ bytes: [UInt8]) throws(HardwareError)
  /// Writes as many bytes as the line accepts without blocking, and returns their number.
  func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int
  /// The number of written bytes that have not been sent yet; 0 if unknown.
  var unsentCount: Int { get }
  func setSpeed(_ speed: BaudRate) throws(HardwareError)
  /// Whether the line has a baud rate that must match the receiver's. A network connection has none.
  var hasSpeed: Bool { get }
  /// Closes the line. This also happens when the last reference is released.
  func close()
}

extension SerialPort {
  public var hasSpeed: Bool { true }
}

/// The baud rates that receivers use, in bits per second.
public enum BaudRate: Int, CaseIterable, Sendable {
  case b4800 = 4800
  case b9600 = 9600
  case b19200 = 19200
  case b38400 = 38400
  case b57600 = 57600
  case b115200 = 115_200
  case b230400 = 230_400
  case b460800 = 460_800
  case b921600 = 921_600
}

extension BaudRate {
  /// Returns the time to send a number of bytes, each with its start and stop bit.
  public func time(for byteCount: Int) -> Duration {
    .nanoseconds(Int64(10 * byteCount) * 1_000_000_000 / Int64(rawValue))
  }
}
