import CLinux
import Glibc
import MonotonicTime
import TestSupport

/// A client that connects from a chosen address of this machine, as if from another machine. It has no thread of its
/// own, because there may be a thousand: it reads while the test waits for bytes.
final class Peer {
  private let descriptor: Int32
  private var received: [UInt8] = []
  private var hasEnded = false

  /// Waits until a server listens: the hub opens its ports one after the other, and some of them after its start
  /// message.
  init(_ port: UInt16, from address: [UInt8] = [127, 0, 0, 1]) {
    var (connected, error): (Int32, Int32) = (-1, 0)
    let isConnected = eventually {
      connected = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      precondition(connected >= 0, "no descriptor left")
      precondition(clinux_bind_tcp(connected, address, 4, 0) == 0, "cannot be at \(address)")
      if Peer.connect(connected, to: port) { return true }
      error = errno
      close(connected)
      return false
    }
    precondition(isConnected, "cannot connect: \(String(cString: strerror(error)))")
    descriptor = connected
  }

  private static func connect(_ socket: Int32, to port: UInt16) -> Bool {
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_port = port.bigEndian
    name.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return withUnsafePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
      }
    }
  }

  deinit { close(descriptor) }

  /// Disconnects.
  func leave() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Forgets the bytes that have arrived.
  func forget() {
    look()
    received = []
  }

  func send(_ text: String) { send(Array(text.utf8)) }

  func send(_ bytes: [UInt8]) {
    _ = clinux_send_now(descriptor, bytes, bytes.count)
  }

  /// Everything received so far.
  var text: String {
    look()
    return String(decoding: received, as: UTF8.self)
  }

  /// Waits until `text` has arrived. Returns false if the other end closes first.
  func receives(_ text: String) -> Bool {
    let mark = Array(text.utf8)
    return reads { received.firstRange(of: mark) != nil }
  }

  /// Reads until the received text meets a condition. Returns false if the other end closes first, or after a limit that
  /// only keeps a failing test from waiting for ever.
  func reads(until isMet: () -> Bool) -> Bool {
    let clock = MonotonicClock()
    let deadline = clock.now + .seconds(180)
    look()
    while !isMet() {
      let rest = deadline - clock.now
      guard !hasEnded, rest > .zero else { return false }
      var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      _ = poll(&event, 1, Int32(rest.components.seconds * 1000 + 1))
      look()
    }
    return true
  }

  /// Reads until the other end closes. Returns false after the limit.
  func waitsForEnd() -> Bool {
    _ = reads { false }
    return hasEnded
  }

  /// The number of complete lines that have arrived.
  var lineCount: Int {
    look()
    return received.count { $0 == 10 }
  }

  /// Whether the other end has not closed the connection.
  var isOpen: Bool {
    look()
    return !hasEnded
  }

  private func look() {
    var chunk = [UInt8](repeating: 0, count: 16384)
    while !hasEnded {
      let count = clinux_receive_now(descriptor, &chunk, chunk.count)
      if count > 0 {
        received += chunk[..<count]
      } else {
        hasEnded = count == 0 || errno != EAGAIN && errno != EINTR
        return
      }
    }
  }

  /// Raises this process's limit of open files for crowds, several of which may run at a time. The usual limit is 1024.
  static func allowCrowds() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 16_384))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }
}
