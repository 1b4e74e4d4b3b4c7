import CLinux
import Glibc

/// A Unix socket that takes datagrams, as chronyd has one.
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

  deinit { close(descriptor) }

  /// The next datagram, if there is one.
  public func next() -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = clinux_receive_now(descriptor, &bytes, bytes.count)
    return count >= 0 ? Array(bytes[..<count]) : nil
  }
}
