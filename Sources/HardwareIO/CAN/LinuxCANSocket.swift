import CLinux
import Glibc

/// A CAN interface of the kernel (SocketCAN), such as `can0`. It may be in use by other programs too.
public final class LinuxCANSocket: CANSocket {
  public let fileDescriptor: Int32
  private let interface: String

  /// - Parameters:
  ///   - identifiers: the identifiers to receive; the kernel discards all others
  ///   - mask: the bits of the identifiers that must be equal
  public init(_ interface: String, identifiers: [UInt32], mask: UInt32) throws(HardwareError) {
    self.interface = interface
    fileDescriptor = clinux_can_socket(interface, identifiers, identifiers.count, mask)
    guard fileDescriptor >= 0 else { throw LinuxCANSocket.error(interface, errno) }
  }

  deinit { close(fileDescriptor) }

  public func receive() throws(HardwareError) -> CANFrame? {
    var identifier: UInt32 = 0
    var bytes = [UInt8](repeating: 0, count: 8)
    let count = Int(clinux_can_receive(fileDescriptor, &identifier, &bytes))
    if count >= 0 { return CANFrame(identifier: identifier, bytes: Array(bytes[..<count])) }
    guard errno == EAGAIN || errno == EINTR else { throw LinuxCANSocket.error(interface, errno) }
    return nil
  }

  public func send(_ frame: CANFrame) throws(HardwareError) -> Bool {
    if clinux_can_send(fileDescriptor, frame.identifier, frame.bytes, min(frame.bytes.count, 8)) == 0 { return true }
    let error = errno
    guard error == EAGAIN || error == ENOBUFS || error == EINTR else { throw LinuxCANSocket.error(interface, error) }
    return false
  }

  private static func error(_ interface: String, _ error: Int32) -> HardwareError {
    switch error {
    case ENODEV, ENXIO: .notFound("CAN interface \(interface)", .canInterface)
    case ENETDOWN:
      .unheard(
        "CAN interface \(interface) is down",
        nextStep: "start it: sudo ip link set \(interface) up type can bitrate 250000")
    case EAFNOSUPPORT, EPROTONOSUPPORT, EPERM, EACCES:
      .unheard(
        "no CAN sockets: \(String(cString: strerror(error)))",
        nextStep: "the kernel has no SocketCAN (sudo modprobe can-raw), or the service's sandbox forbids it "
          + "(sensorhub check --device-policy lists what the board needs)")
    default: .system("CAN interface \(interface)", errno: error)
    }
  }
}
