import CLinux
import Glibc

/// A socket address in the kernel's representation.
struct SocketAddress: Sendable {
  private let family: Int32
  private let type: Int32
  private let bytes: [UInt8]

  /// Finds the addresses of a source's host, or of this machine if the host is empty. Returns at least one address.
  static func find(_ source: NetworkSource) throws(HardwareError) -> [SocketAddress] {
    var hints = addrinfo()
    let type = source.kind == .udp ? SOCK_DGRAM : SOCK_STREAM
    hints.ai_socktype = Int32(type.rawValue)
    hints.ai_flags = AI_NUMERICSERV | (source.host.isEmpty ? AI_PASSIVE : 0)
    // With an empty host, datagrams are received over IPv4.
    if source.host.isEmpty { hints.ai_family = AF_INET }
    var found: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(source.host.isEmpty ? nil : source.host, "\(source.port)", &hints, &found)
    guard result == 0 else {
      let reason = String(cString: gai_strerror(result))
      throw .unsupported("\(source): there is no address for '\(source.host)': \(reason)")
    }
    defer { freeaddrinfo(found) }
    var addresses: [SocketAddress] = []
    var next = found
    while let place = next?.pointee {
      next = place.ai_next
      addresses.append(
        SocketAddress(
          family: place.ai_family, type: place.ai_socktype,
          bytes: [UInt8](UnsafeRawBufferPointer(start: place.ai_addr, count: Int(place.ai_addrlen)))))
    }
    guard !addresses.isEmpty else { throw .unsupported("\(source): there is no address for '\(source.host)'") }
    return addresses
  }

  /// Makes a socket. Returns its descriptor, or -1 with `errno` set.
  func makeSocket() -> Int32 {
    socket(family, type | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
  }

  /// Starts a connection without waiting for it. Returns the descriptor, or -1 with `errno` set.
  func connect() -> Int32 {
    let descriptor = makeSocket()
    guard descriptor >= 0 else { return -1 }
    let result = withPointer { Glibc.connect(descriptor, $0, $1) }
    if result == 0 || errno == EINPROGRESS { return descriptor }
    let error = errno
    _ = close(descriptor)
    errno = error
    return -1
  }

  /// Binds a socket to the address. Returns 0 or an error number.
  func bind(_ descriptor: Int32) -> Int32 {
    withPointer { Glibc.bind(descriptor, $0, $1) } == 0 ? 0 : errno
  }

  /// Joins the address's multicast group; does nothing for any other address. Returns 0 or an error number.
  func joinGroup(_ descriptor: Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      if family == AF_INET {
        let address = bytes.loadUnaligned(as: sockaddr_in.self).sin_addr
        guard UInt32(bigEndian: address.s_addr) >> 28 == 0xE else { return 0 }
        var request = ip_mreq(imr_multiaddr: address, imr_interface: in_addr(s_addr: 0))
        let size = socklen_t(MemoryLayout<ip_mreq>.size)
        return setsockopt(descriptor, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP, &request, size) == 0 ? 0 : errno
      }
      let address = bytes.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      guard withUnsafeBytes(of: address, { $0[0] == 0xFF }) else { return 0 }
      var request = ipv6_mreq(ipv6mr_multiaddr: address, ipv6mr_interface: 0)
      let size = socklen_t(MemoryLayout<ipv6_mreq>.size)
      return setsockopt(descriptor, Int32(IPPROTO_IPV6), IPV6_JOIN_GROUP, &request, size) == 0 ? 0 : errno
    }
  }

  private func withPointer(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
    bytes.withUnsafeBytes { bytes in
      guard let base = bytes.baseAddress else { return -1 }
      return body(base.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
  }
}
