import CLinux
import Glibc

/// A socket that receives datagrams: a Unix socket, like chronyd's, or one on a port.
public final class DatagramSocket {
  private let descriptor: Int32

  public init(_ path: String) {
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    precondition(result == 0, "cannot bind \(path): \(String(cString: strerror(errno)))")
  }

  /// Receives the datagrams for a port of this machine.
  public init(port: UInt16) {
    descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let result = clinux_bind_tcp(descriptor, [127, 0, 0, 1], 4, port)
    precondition(result == 0, "cannot bind \(port): \(String(cString: strerror(errno)))")
  }

  deinit { close(descriptor) }

  /// Sends a datagram to a port of this machine.
  public func send(_ text: String, to port: UInt16) {
    let bytes = Array(text.utf8)
    let result = clinux_udp_send(descriptor, [127, 0, 0, 1], 4, port, 0, bytes, bytes.count)
    precondition(result == 0, "cannot send to port \(port): \(String(cString: strerror(errno)))")
  }

  /// Sends a datagram to a port of this machine. Returns whether the kernel has accepted it.
  @discardableResult
  public func send(_ bytes: [UInt8], to port: UInt16) -> Bool {
    clinux_udp_send(descriptor, [127, 0, 0, 1], 4, port, 0, bytes, bytes.count) == 0
  }

  /// Returns the next datagram and the port that it came from, or `nil` if there is none. The socket must be one on a
  /// port.
  public func nextWithPort() -> (bytes: [UInt8], port: UInt16)? {
    var bytes = [UInt8](repeating: 0, count: 2048)
    var sender = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let count = withUnsafeMutablePointer(to: &sender) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        recvfrom(descriptor, &bytes, bytes.count, Int32(MSG_DONTWAIT), $0, &size)
      }
    }
    return count >= 0 ? (Array(bytes[..<count]), UInt16(bigEndian: sender.sin_port)) : nil
  }

  /// Returns the next datagram, or `nil` if there is none.
  public func next() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 2048)
    let count = clinux_receive_now(descriptor, &bytes, bytes.count)
    return count >= 0 ? Array(bytes[..<count]) : nil
  }

  /// Returns all datagrams that have arrived, as text.
  public func texts() -> [String] {
    var texts: [String] = []
    while let bytes = next() { texts.append(String(decoding: bytes, as: UTF8.self)) }
    return texts
  }
}
