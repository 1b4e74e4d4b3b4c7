import CLinux
import Glibc
import Guarding
import HardwareIO
import Hub
import MonotonicTime

/// A connection to a caster or another server, with or without TLS, for use on one thread. A stop request ends every
/// wait except the resolution of the host's name.
struct ServerConnection: ~Copyable {
  /// The bytes of one read.
  struct Received {
    /// The decrypted bytes.
    var bytes: [UInt8] = []
    /// The number of bytes on the line, which is larger with TLS.
    var count = 0
  }

  /// The maximum number of bytes in one read.
  private static let mostBytes = 4096
  /// The maximum number of bytes that a server sends in its handshake. A usual chain of certificates has 2 to 6 kB.
  private static let mostBytesOfHandshake = 128 * 1024
  /// The types of TLS records (RFC 8446, section 5.1).
  private static let recordTypes = UInt8(0x14)...0x17

  private let descriptor: Int32
  private let poller: Poller
  /// The TLS session; `nil` without TLS.
  private let tls: TLSSession?

  /// Connects to the first of the host's addresses that accepts the connection.
  ///
  /// - Parameter limit: the maximum time for each address
  init(to server: ServerAddress, _ poller: Poller, within limit: Duration) throws(CasterError) {
    let tls = try server.isEncrypted ? TLSSession(to: server) : nil
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_NUMERICSERV
    var found: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(server.host, "\(server.port)", &hints, &found)
    guard result == 0 else { throw .unknownHost(reason: String(cString: gai_strerror(result))) }
    defer { freeaddrinfo(found) }
    var failure = ECONNREFUSED
    var next = found
    while let place = next?.pointee {
      next = place.ai_next
      switch ServerConnection.connect(to: place, poller, within: limit) {
      case .open(let descriptor):
        self.descriptor = descriptor
        self.poller = poller
        self.tls = tls
        return
      case .stopped: throw .stopped
      case .failed(let error): failure = error
      }
    }
    throw .unreachable(reason: String(cString: strerror(failure)))
  }

  deinit {
    if let tls { send(now: tls.end()) }
    close(descriptor)
  }

  private enum Attempt { case open(Int32), failed(Int32), stopped }

  private static func connect(to place: addrinfo, _ poller: Poller, within limit: Duration) -> Attempt {
    let type = place.ai_socktype | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(place.ai_family, type, place.ai_protocol)
    guard descriptor >= 0 else { return .failed(errno) }
    var error = Glibc.connect(descriptor, place.ai_addr, place.ai_addrlen) == 0 ? 0 : errno
    if error == EINPROGRESS {
      error = ETIMEDOUT
      if poller.waitToWrite(to: descriptor, atMost: limit) {
        var size = socklen_t(MemoryLayout<Int32>.size)
        if getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size) != 0 { error = errno }
      } else if poller.isStopped {
        close(descriptor)
        return .stopped
      }
    }
    if error == 0 { return .open(descriptor) }
    close(descriptor)
    return .failed(error)
  }

  /// Closes the connection if the other end leaves sent bytes without acknowledgement for this time. Without a limit,
  /// the kernel sends them again for a quarter of an hour.
  borrowing func limitSilence(to limit: Duration) {
    var milliseconds = UInt32(clamping: limit.inNanoseconds / 1_000_000)
    let size = socklen_t(MemoryLayout<UInt32>.size)
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &milliseconds, size)
  }

  /// Completes the TLS handshake, if the server uses TLS.
  ///
  /// - Parameter limit: the maximum time of the whole handshake
  borrowing func shakeHands(within limit: Duration, _ clock: any MonotonicTimeSource) throws(CasterError) {
    guard let tls else { return }
    let deadline = clock.now + limit
    var count = 0
    do throws(CasterError) {
      while true {
        let isDone = try tls.shakeHands()
        try write(tls.output(), within: deadline - clock.now)
        if isDone { return }
        guard case let left = deadline - clock.now, left > .zero else { throw .silent }
        let bytes = try read(atMost: left)
        if count == 0, let first = bytes.first, !ServerConnection.recordTypes.contains(first) {
          throw .noTLS(reason: "the server answers without TLS")
        }
        count += bytes.count
        if count > ServerConnection.mostBytesOfHandshake { throw .noTLS(reason: "the handshake does not end") }
        try tls.put(bytes)
      }
    } catch {
      // The alert tells the server's operator why the hub left.
      send(now: tls.output())
      switch error {
      case .silent: throw .noTLS(reason: "no answer within \(Text.duration(seconds: limit.inSeconds))")
      case .closed: throw .noTLS(reason: "the server closed the connection")
      default: throw error
      }
    }
  }

  /// - Parameter limit: the maximum time of each wait until the server accepts more bytes
  borrowing func send(_ bytes: [UInt8], within limit: Duration) throws(CasterError) {
    guard let tls else { return try write(bytes, within: limit) }
    try tls.encrypt(bytes)
    try write(tls.output(), within: limit)
  }

  /// - Parameters:
  ///   - limit: the maximum time of the wait; `nil` for no limit
  ///   - signal: ends the wait when it is raised
  /// - Returns: the received bytes; none if nothing arrived within the limit, or if the read was interrupted
  borrowing func receive(atMost limit: Duration?, or signal: WakeSignal? = nil) throws(CasterError) -> Received {
    guard let tls else {
      let bytes = try read(atMost: limit, or: signal)
      return Received(bytes: bytes, count: bytes.count)
    }
    if let end = tls.endReason { throw end }
    let encrypted = try read(atMost: limit, or: signal)
    let received = Received(bytes: try tls.decrypt(encrypted), count: encrypted.count)
    // A server may ask for new keys. If it asks and does not read the answer, the connection ends.
    try write(tls.output(), within: .zero)
    return received
  }

  // MARK: The bytes on the line

  private borrowing func write(_ bytes: [UInt8], within limit: Duration) throws(CasterError) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { clinux_send_now(descriptor, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        guard poller.waitToWrite(to: descriptor, atMost: limit) else { throw poller.isStopped ? .stopped : .silent }
      } else if errno != EINTR {
        throw .closed
      }
    }
  }

  /// Sends as many bytes as the socket accepts. It does not wait, and ignores errors.
  private borrowing func send(now bytes: [UInt8]) {
    if bytes.isEmpty { return }
    _ = bytes.withUnsafeBytes { clinux_send_now(descriptor, $0.baseAddress, $0.count) }
  }

  private borrowing func read(atMost limit: Duration?, or signal: WakeSignal? = nil) throws(CasterError) -> [UInt8] {
    let event = signal.map { poller.wait(for: descriptor, or: $0, atMost: limit) }
    switch event ?? poller.wait(for: descriptor, atMost: limit) {
    case .stopped: throw .stopped
    case .timedOut, nil: return []
    case .readable: break
    }
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: ServerConnection.mostBytes) { buffer, count in
      let received = clinux_receive_now(descriptor, buffer.baseAddress, buffer.count)
      failure = received < 0 ? errno : 0
      count = max(0, received)
    }
    guard !bytes.isEmpty || failure == EAGAIN || failure == EINTR else { throw .closed }
    return bytes
  }
}
