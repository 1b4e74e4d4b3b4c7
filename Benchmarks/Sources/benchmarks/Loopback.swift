import Glibc

/// Connections to ports of this machine.
enum Loopback {
  /// Returns a connected socket, or -1.
  static func connect(_ port: UInt16) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = address(port)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    if result == 0 { return descriptor }
    close(descriptor)
    return -1
  }

  /// Waits for the only client of a server. Returns its socket.
  static func accept(_ port: UInt16) -> Int32 {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = self.address(port)
    let result = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard result == 0, listen(listener, 1) == 0 else { exit(1) }
    let client = Glibc.accept(listener, nil, nil)
    var isOn: Int32 = 1
    setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    return client
  }

  private static func address(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
  }

  /// Retries `connect` until a server listens there.
  static func connect(_ port: UInt16, withinSeconds limit: Double) -> Int32 {
    var descriptor = connect(port)
    for _ in 0..<Int(limit / 0.05) where descriptor < 0 {
      pause(seconds: 0.05)
      descriptor = connect(port)
    }
    return descriptor
  }
}
