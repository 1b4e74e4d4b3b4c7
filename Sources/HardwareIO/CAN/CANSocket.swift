/// A frame of a CAN bus with a 29-bit identifier.
public struct CANFrame: Equatable, Sendable {
  public var identifier: UInt32
  /// The data, at most 8 bytes.
  public var bytes: [UInt8]

  public init(identifier: UInt32, bytes: [UInt8]) {
    self.identifier = identifier
    self.bytes = bytes
  }
}

/// A program's access to a CAN bus. No call waits.
public protocol CANSocket: Sendable {
  /// The file descriptor for `poll`. It is readable while a frame or an error waits.
  var fileDescriptor: Int32 { get }
  /// The next frame that another program or device has sent; `nil` if there is none at present.
  func receive() throws(HardwareError) -> CANFrame?
  /// - Returns: `false` if the queue of the interface is full, and the frame must be sent again later
  func send(_ frame: CANFrame) throws(HardwareError) -> Bool
}
