import CLinux
import Glibc
import Hub
import MonotonicTime

/// The system calls for TCP sockets.
enum TCPSocket {
  /// The maximum number of connections that wait to be accepted. If this queue is full, a client's kernel tries again
  /// after one second, three, seven and so on. Many clients at once would then need minutes to connect.
  static let backlog: Int32 = 1024

  static func listen(_ endpoint: TCPAddress) throws(SocketError) -> Int32 {
    let isIPv4 = endpoint.address.bytes.count == 4
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(isIPv4 ? AF_INET : AF_INET6, type, 0)
    guard descriptor >= 0 else { throw .system(path: "\(endpoint)", doing: "creating the socket for", errno: errno) }
    // With this option, a restarted hub can use the port at once, even if the kernel still remembers connections of
    // the previous hub.
    set(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
    guard clinux_bind_tcp(descriptor, endpoint.address.bytes, endpoint.address.bytes.count, endpoint.port) == 0,
      Glibc.listen(descriptor, backlog) == 0
    else {
      let error = errno
      close(descriptor)
      throw error == EADDRINUSE
        ? .portInUse(address: "\(endpoint)") : .system(path: "\(endpoint)", doing: "listening on", errno: error)
    }
    return descriptor
  }

  /// The options of a client's connection. Most of them detect that the client's machine has gone: such a client
  /// sends nothing, and must not keep the devices awake for ever.
  static let options: [(level: Int32, name: Int32, value: Int32)] = [
    // Keep the kernel's buffer small: bytes in it become old, and cannot be dropped any more.
    (SOL_SOCKET, SO_SNDBUF, 32 * 1024), (SOL_SOCKET, SO_KEEPALIVE, 1), (Int32(IPPROTO_TCP), TCP_KEEPIDLE, 30),
    (Int32(IPPROTO_TCP), TCP_KEEPINTVL, 10),
    (Int32(IPPROTO_TCP), TCP_KEEPCNT, 3),
    patience(StreamConnection.patience),
  ]

  /// The option that ends the connection of a client that accepts no data for this time. It is needed because
  /// keep-alive probes pause while data is being sent.
  static func patience(_ duration: Duration) -> (level: Int32, name: Int32, value: Int32) {
    (Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, Int32(duration.inSeconds * 1000))
  }

  /// Sets the options of an accepted connection.
  ///
  /// - Returns: the address of the other end
  static func prepare(_ descriptor: Int32) -> TCPAddress? {
    // Send each sentence at once, without waiting for the next one.
    set(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, 1)
    for (level, name, value) in options { set(descriptor, level, name, value) }
    var bytes = [UInt8](repeating: 0, count: 16)
    var port: UInt16 = 0
    let count = clinux_tcp_peer(descriptor, &bytes, &port)
    return count > 0 ? TCPAddress(address: IPAddress(bytes: Array(bytes[..<Int(count)])), port: port) : nil
  }

  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: Int32) {
    var value = value
    setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
  }
}
