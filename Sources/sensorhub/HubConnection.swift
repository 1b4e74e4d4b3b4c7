import CLinux
import Glibc
import MonotonicTime
import Outputs

/// A client's connection to one of the hub's sockets. It is read line by line, or in pieces as bytes arrive.
struct HubConnection: ~Copyable {
  /// The maximum length of a line in bytes. A hub's report is far shorter, so a longer line is not from a hub.
  static let longestLine = 16 << 20
  /// The longest time that a busy hub may take for an answer that waits for no device.
  static let answerTime = Duration.seconds(10)

  /// The descriptor, for waiting on it and others at the same time.
  let descriptor: Int32
  private var pending: [UInt8] = []
  /// The number of received bytes that are known to contain no line end.
  private var searchedCount = 0

  private init(descriptor: Int32) { self.descriptor = descriptor }

  /// Connects to a running hub.
  ///
  /// - Parameters:
  ///   - socket: the path of the state socket that the user has given; `nil` to try the usual paths
  ///   - choose: selects which of the hub's sockets to connect to
  static func open(_ socket: String?, _ choose: (SocketPath) -> String) throws -> HubConnection {
    // If the user names a path, its folder is not checked.
    if let socket {
      do throws(SocketError) {
        return HubConnection(descriptor: try UnixSocket.connect(choose(SocketPath(socket))))
      } catch {
        throw CommandError(error, isClient: true)
      }
    }
    var first: SocketError?
    for path in SocketPath.candidates {
      do throws(SocketError) {
        return HubConnection(descriptor: try UnixSocket.connect(choose(path), in: path.openTrustedFolder()))
      } catch {
        first = first ?? error
      }
    }
    throw CommandError(first ?? .notRunning(path: "any socket"), isClient: true)
  }

  deinit { close(descriptor) }

  borrowing func send(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    _ = clinux_send_now(descriptor, bytes, bytes.count)
  }

  /// Tells the hub that this client will send nothing more.
  borrowing func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

  /// Reads bytes into a buffer, and waits if no bytes have arrived.
  ///
  /// - Returns: the number of bytes; 0 when the hub has closed the connection
  borrowing func receive(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      let count = read(descriptor, buffer.baseAddress, buffer.count)
      if count < 0, errno == EINTR { continue }
      return max(count, 0)
    }
  }

  /// The hub's only answer to a request, without its line end.
  ///
  /// - Parameter limit: the longest wait. The default is for an answer that waits for no device.
  mutating func answer(within limit: Duration = HubConnection.answerTime) throws -> [UInt8] {
    switch nextLine(by: MonotonicClock().now + limit) {
    case .text(let line): return line
    case .closed: throw CommandError.hubClosed
    case .late: throw CommandError.hubSilent(limit)
    }
  }

  enum Line {
    /// A line without its line end.
    case text([UInt8])
    case closed
    /// No line arrived in time.
    case late
  }

  /// Waits for the next line.
  ///
  /// - Parameter deadline: the end of the wait; `nil` for no limit
  mutating func nextLine(by deadline: MonotonicInstant?) -> Line {
    while true {
      if let end = pending[searchedCount...].firstIndex(of: UInt8(ascii: "\n")) {
        defer {
          pending.removeFirst(end + 1)
          searchedCount = 0
        }
        return .text(Array(pending[..<end]))
      }
      searchedCount = pending.count
      if pending.count > HubConnection.longestLine { return .closed }
      if let deadline {
        let left = (deadline - MonotonicClock().now).inSeconds
        guard left > 0 else { return .late }
        var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Wait for at most a day. Round up, so that the wait does not end before the deadline.
        guard poll(&wait, 1, Int32(min(left, 86400) * 1000) + 1) > 0 else { continue }
      }
      var chunk = [UInt8](repeating: 0, count: 16384)
      let count = read(descriptor, &chunk, chunk.count)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return .closed }
      pending += chunk[..<count]
    }
  }
}
