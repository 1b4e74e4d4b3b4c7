import CLinux
import Glibc
import Guarding

/// An exchange of UDP datagrams with one machine, with the same interface as a serial port. The kernel discards
/// datagrams from other machines and ports.
public final class DatagramPort: SerialPort {
  private let peer: NetworkSource
  private let descriptor: Guarded<Int32>

  public init(to peer: NetworkSource) throws(HardwareError) {
    self.peer = peer
    let addresses = try SocketAddress.find(peer)
    let opened = addresses[0].connect()
    descriptor = Guarded(opened)
    guard opened >= 0 else { throw failure(errno) }
  }

  deinit { close() }

  public var name: String { "\(peer)" }
  public var hasSpeed: Bool { false }
  public var fileDescriptor: Int32 { descriptor.withLock { $0 } }
  public var unsentCount: Int { 0 }
  public func setSpeed(_ speed: BaudRate) {}

  /// Reads one datagram. A part that does not fit into the buffer is lost.
  public func read(into buffer: UnsafeMutableRawBufferPointer) throws(HardwareError) -> Int {
    let count = clinux_receive_now(fileDescriptor, buffer.baseAddress, buffer.count)
    if count >= 0 { return count }
    // The error means that no program on the other machine received an earlier datagram. Such a program may start at
    // any time, so this is not a failure.
    guard errno == EAGAIN || errno == EINTR || errno == ECONNREFUSED else { throw failure(errno) }
    return 0
  }

  public func write(_ bytes: [UInt8]) throws(HardwareError) { _ = try writeNow(bytes[...]) }

  /// Sends the bytes in one datagram. Returns 0 if the kernel does not accept it now.
  public func writeNow(_ bytes: ArraySlice<UInt8>) throws(HardwareError) -> Int {
    // The error about an earlier datagram keeps the kernel from sending this one, so it is sent again.
    for _ in 0..<2 {
      let count = bytes.withUnsafeBytes { clinux_send_now(fileDescriptor, $0.baseAddress, $0.count) }
      if count >= 0 { return count }
      switch errno {
      case ECONNREFUSED, EINTR: continue
      case EAGAIN, ENOBUFS: return 0
      default: throw failure(errno)
      }
    }
    return 0
  }

  public func close() {
    let open = descriptor.withLock { descriptor in
      defer { descriptor = -1 }
      return descriptor
    }
    if open >= 0 { _ = Glibc.close(open) }
  }

  private func failure(_ error: Int32) -> HardwareError {
    switch error {
    case EPERM, EACCES, EAFNOSUPPORT:
      .unheard(
        "no datagrams go to \(peer): \(String(cString: strerror(error)))",
        nextStep: "a firewall or the service's sandbox forbids it (sensorhub check --device-policy lists what the "
          + "board needs)")
    default: .system("sending to \(peer)", errno: error)
    }
  }
}
