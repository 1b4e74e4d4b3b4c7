/// A serial line to a receiver, opened for this process alone.
public protocol SerialPort: Sendable {
  /// As people know it: `/dev/ttyAMA0`.
  var name: String { get }
  /// For `poll`: readable when bytes wait or the line has hung up.
  var fileDescriptor: Int32 { get }

  /// Takes the bytes that have arrived, without waiting. 0 means that none have.
  func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int
  func write(_ bytes: [UInt8]) throws(HardwareError)
  /// Writes the bytes that the line takes without waiting, and returns their number.
  func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int
  /// The number of written bytes that have still to leave; 0 if it is not known.
  var unsentCount: Int { get }
  func setSpeed(_ speed: BaudRate) throws(HardwareError)
  /// Whether the line has a speed that must be right; a network has none.
  var hasSpeed: Bool { get }
  /// Closes the line; also done when the last reference goes.
  func close()
}

extension SerialPort {
  public var hasSpeed: Bool { true }
}

/// The speeds that receivers use, bits per second.
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
  /// The duration of this number of bytes, each with its start and stop bit.
  public func time(for byteCount: Int) -> Duration {
    .nanoseconds(Int64(10 * byteCount) * 1_000_000_000 / Int64(rawValue))
  }
}
