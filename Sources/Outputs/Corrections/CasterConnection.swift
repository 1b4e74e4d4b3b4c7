import CLinux
import Glibc
import HardwareIO
import Hub

/// A connection to a caster, for use on one thread. A stop request ends every wait except the resolution of the
/// host's name.
struct CasterConnection: ~Copyable {
  /// The maximum number of bytes in one read.
  private static let mostBytes = 4096

  private let descriptor: Int32
  private let poller: Poller

  /// Connects to the first of the host's addresses that accepts the connection.
  ///
  /// - Parameter limit: the maximum time for each address
  init(to caster: CasterSettings, _ poller: Poller, within limit: Duration) throws(CasterError) {
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_NUMERICSERV
    var found: UnsafeMutablePointer<addrinfo>?
    let result = getaddrinfo(caster.host, "\(caster.port)", &hints, &found)
    guard result == 0 else { throw .unknownHost(reason: String(cString: gai_strerror(result))) }
    defer { freeaddrinfo(found) }
    var failure = ECONNREFUSED
    var next = found
    while let place = next?.pointee {
      next = place.ai_next
      switch CasterConnection.connect(to: place, poller, within: limit) {
      case .open(let descriptor):
        self.descriptor = descriptor
        self.poller = poller
        return
      case .stopped: throw .stopped
      case .failed(let error): failure = error
      }
    }
    throw .unreachable(reason: String(cString: strerror(failure)))
  }

  deinit { close(descriptor) }

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

  /// - Parameter limit: the maximum time of each wait until the caster accepts more bytes
  borrowing func send(_ bytes: [UInt8], within limit: Duration) throws(CasterError) {
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

  /// - Returns: the received bytes; empty if none arrived within the limit, or if the read was interrupted
  borrowing func receive(atMost limit: Duration) throws(CasterError) -> [UInt8] {
    switch poller.wait(for: descriptor, atMost: limit) {
    case .stopped: throw .stopped
    case .timedOut: return []
    case .readable: break
    }
    var failure: Int32 = 0
    let bytes = [UInt8](unsafeUninitializedCapacity: CasterConnection.mostBytes) { buffer, count in
      let received = clinux_receive_now(descriptor, buffer.baseAddress, buffer.count)
      failure = received < 0 ? errno : 0
      count = max(0, received)
    }
    guard !bytes.isEmpty || failure == EAGAIN || failure == EINTR else { throw .closed }
    return bytes
  }
}
