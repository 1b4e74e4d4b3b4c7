import CLinux
import Glibc
import MonotonicTime

/// A client of a real socket that reads only while the test waits for bytes, on the test's thread. There may be a
/// thousand of them.
public final class WireClient {
  /// The longest wait, which only keeps a failing test from waiting forever.
  private static let limit = Duration.seconds(180)

  private let descriptor: Int32
  private var received: [UInt8] = []
  private var hasEnded = false

  /// - Parameter isNamed: whether the client's socket has a name, which tells the hub that a request follows
  public init(path: String, isNamed: Bool = false) { descriptor = SocketClient.connect(path: path, isNamed: isNamed) }

  /// - Parameter source: the address of this machine from which the client connects, as if from another machine
  public init(port: UInt16, from source: [UInt8]? = nil) {
    descriptor = SocketClient.connect(port: port, from: source)
  }

  /// - Parameter descriptor: a connected socket, which this client closes
  public init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Raises this process's limit of open files for crowds, several of which may run at a time. The usual limit is 1024.
  public static func allowCrowds() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 16_384))
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  }

  /// Disconnects. Bytes that have arrived can still be read.
  public func leave() { shutdown(descriptor, Int32(SHUT_RDWR)) }

  /// Sends everything, and waits while the hub reads it.
  public func send(_ text: String) { send(Array(text.utf8)) }

  public func send(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Sends the bytes that the hub accepts at once. The rest is lost.
  public func sendNow(_ bytes: [UInt8]) { _ = clinux_send_now(descriptor, bytes, bytes.count) }

  /// The text that was read, without bytes that have arrived since.
  public var text: String { String(decoding: received, as: UTF8.self) }

  /// The number of complete lines that were read.
  public var lineCount: Int { received.count { $0 == 10 } }

  /// The complete lines that were read.
  public var lines: [Substring] {
    text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).dropLast().filter { !$0.isEmpty }
  }

  /// Forgets the text that was read, and that has arrived.
  public func forget() {
    takeArrived()
    received = []
  }

  /// Reads until the text meets a condition. Returns false if the hub closes the connection first, or after the limit.
  public func reads(until isMet: () throws -> Bool) rethrows -> Bool {
    let clock = MonotonicClock()
    let deadline = clock.now + WireClient.limit
    takeArrived()
    while try !isMet() {
      let rest = deadline - clock.now
      guard !hasEnded, rest > .zero else { return false }
      var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      _ = poll(&event, 1, Int32(rest.components.seconds * 1000 + 1))
      takeArrived()
    }
    return true
  }

  /// Reads until the text contains `text`.
  public func receives(_ text: String) -> Bool {
    let mark = Array(text.utf8)
    return reads { received.firstRange(of: mark) != nil }
  }

  /// Reads until the hub closes the connection. Returns false after the limit.
  public func waitsForEnd() -> Bool {
    _ = reads { false }
    return hasEnded
  }

  /// Whether the hub has not closed the connection.
  public var isOpen: Bool {
    takeArrived()
    return !hasEnded
  }

  /// Reads what has arrived.
  public func takeArrived() {
    var chunk = [UInt8](repeating: 0, count: 65536)
    while !hasEnded {
      let count = clinux_receive_now(descriptor, &chunk, chunk.count)
      if count > 0 {
        received += chunk[..<count]
      } else if count == 0 || errno != EAGAIN && errno != EINTR {
        hasEnded = true
      } else if errno == EAGAIN {
        return
      }
    }
  }
}
