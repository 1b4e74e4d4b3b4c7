import CLinux
import Glibc
import Guarding
import MCAP
import MonotonicTime
import Recording

/// Sends a recording to a client's socket instead of a folder. It accepts one segment, which is the client's file.
final class ClientStore: SegmentStore {
  /// The maximum time for which a client may accept no data while data waits for it.
  static let usualPatience = Duration.seconds(60)

  private let descriptor: Int32
  private let patience: Duration
  private let hasBegun = Guarded(false)

  /// - Parameter descriptor: the socket, which the caller closes after the recorder has ended
  init(_ descriptor: Int32, patience: Duration = ClientStore.usualPatience) {
    self.descriptor = descriptor
    self.patience = patience
  }

  var segments: [StoredSegment] { [] }

  func create(_ name: String, limit: UInt64?) throws(MCAPError) -> any SegmentFile {
    let isFirst = hasBegun.withLock { hasBegun in
      defer { hasBegun = true }
      return !hasBegun
    }
    // A file that a client has partly received cannot be started again.
    guard isFirst else { throw ClientFile.failure(EPIPE) }
    return ClientFile(descriptor, patience)
  }

  func remove(_ name: String) {}

  func repair(_ name: String) throws(MCAPError) -> MCAPRepair { throw ClientFile.failure(EPIPE) }
}

/// Sends bytes over the socket. Only the recorder's thread waits for the client.
private final class ClientFile: SegmentFile {
  /// The longest pause between attempts to write. Waiting for `poll` alone would take too long, because it reports the
  /// socket as writable only when its buffer is nearly empty.
  private static let pause = Duration.milliseconds(500)

  private let descriptor: Int32
  private let patience: Duration
  /// Whether the client can receive more. After a partly written piece, nothing more can be sent.
  private(set) var isThere = true

  init(_ descriptor: Int32, _ patience: Duration) {
    self.descriptor = descriptor
    self.patience = patience
  }

  static func failure(_ errno: Int32) -> MCAPError { .system("sending a recording", errno: errno) }

  func append(_ bytes: UnsafeRawBufferPointer) throws(MCAPError) {
    guard isThere else { throw ClientFile.failure(EPIPE) }
    let clock = MonotonicClock()
    var sent = 0
    var deadline = clock.now + patience
    while sent < bytes.count {
      let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
      let count = clinux_send_now(descriptor, rest.baseAddress, rest.count)
      let now = clock.now
      if count > 0 {
        sent += count
        deadline = now + patience
        continue
      }
      let number = count < 0 ? errno : EIO
      if number == EINTR { continue }
      guard number == EAGAIN, now < deadline else {
        isThere = false
        throw ClientFile.failure(number == EAGAIN ? ETIMEDOUT : number)
      }
      var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      _ = poll(&wait, 1, Int32(min(deadline - now, ClientFile.pause).inSeconds * 1000) + 1)
    }
  }

  /// Does nothing: the client writes the file to its disk.
  func synchronize() {}
}
