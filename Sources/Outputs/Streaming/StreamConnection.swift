import CLinux
import Glibc
import Guarding
import MonotonicTime

/// The connection of one client to a stream socket.
///
/// The thread that delivers a value writes it, without waiting. Values that do not fit are queued; only the newest
/// `valueLimit` are kept. A client that does not read therefore loses values, and delays no other client. Answers to
/// requests are never dropped; a client that sends requests without reading answers is disconnected.
final class StreamConnection: Sendable {
  private static let valueLimit = 8
  private static let answerLimit = 64
  /// The maximum number of waiting bytes of a stream in which no byte may be missing.
  private static let wholeLimit = 64 << 10
  /// The maximum time for which a client may read nothing while bytes wait for it.
  static let patience = Duration.seconds(180)

  private struct Waiting {
    var bytes: [UInt8]
    var isAnswer: Bool
  }

  private struct State {
    /// The rest of a partly written value. It is never dropped, because the client has its beginning.
    var partial: [UInt8] = []
    var queue: [Waiting] = []
    /// The time since which the client has read nothing while bytes wait for it; `nil` if no bytes wait.
    var behindSince: MonotonicInstant?
    /// Whether the client was disconnected because it is too far behind.
    var isCut = false
    var isClosed = false
  }

  let descriptor: Int32
  let peer: ClientPeer
  private let traffic: OutputTraffic.Kind
  private let wantsToWrite: @Sendable () -> Void
  private let state = Guarded(State())

  /// - Parameter wantsToWrite: called when bytes wait because they could not be written at once
  init(
    descriptor: Int32, peer: ClientPeer, traffic: OutputTraffic.Kind, wantsToWrite: @escaping @Sendable () -> Void
  ) {
    self.traffic = traffic
    traffic.clientCame()
    self.descriptor = descriptor
    self.peer = peer
    self.wantsToWrite = wantsToWrite
  }

  /// The time by which the client must have read; `nil` while it keeps up.
  var deadline: MonotonicInstant? { state.withLock { $0.behindSince.map { $0 + StreamConnection.patience } } }

  /// Whether too many answers wait. Further requests are then accepted only after the client has read some of them.
  var isCongested: Bool {
    state.withLock { state in
      state.queue.count { $0.isAnswer } >= StreamConnection.answerLimit / 2
    }
  }

  /// Whether the client has sent bytes that are still unread.
  var hasUnread: Bool {
    state.withLock { state in
      var count: Int32 = 0
      return !state.isClosed && ioctl(descriptor, UInt(FIONREAD), &count) == 0 && count > 0
    }
  }

  /// Sends a value. If too many values wait, the oldest is dropped.
  func send(_ bytes: UnsafeBufferPointer<UInt8>) { write(bytes, isAnswer: false) }

  /// Sends an answer to a request. An answer is never dropped.
  func answer(_ bytes: UnsafeBufferPointer<UInt8>) { write(bytes, isAnswer: true) }

  /// Sends bytes of a stream in which no byte may be missing. A client that is too far behind is disconnected, and
  /// counts as one lost value.
  ///
  /// - Returns: `false` if this call has disconnected the client
  func sendWhole(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var isDisconnected = false
    let mustWait = state.withLock { state in
      guard !state.isClosed, !state.isCut else { return false }
      let isFirst = state.partial.isEmpty
      let count = isFirst ? max(clinux_send_now(descriptor, bytes.baseAddress, bytes.count), 0) : 0
      guard count < bytes.count else { return false }
      guard state.partial.count + bytes.count - count <= StreamConnection.wholeLimit else {
        state.isCut = true
        isDisconnected = true
        traffic.valueDropped()
        // The server's thread notices the end and removes the client.
        shutdown(descriptor, Int32(SHUT_RDWR))
        return false
      }
      state.partial += bytes[count...]
      if isFirst { state.behindSince = MonotonicClock().now }
      return isFirst
    }
    if mustWait { wantsToWrite() }
    return !isDisconnected
  }

  /// Makes the server check the client again, because the client may now send more.
  func reconsider() { wantsToWrite() }

  private func write(_ bytes: UnsafeBufferPointer<UInt8>, isAnswer: Bool) {
    let mustWait = state.withLock { state in
      guard !state.isClosed else { return false }
      if state.partial.isEmpty, state.queue.isEmpty {
        let count = max(clinux_send_now(descriptor, bytes.baseAddress, bytes.count), 0)
        guard count < bytes.count else { return false }
        state.partial = Array(bytes[count...])
        state.behindSince = MonotonicClock().now
        return true
      }
      let alike = state.queue.count { $0.isAnswer == isAnswer }
      if isAnswer, alike >= StreamConnection.answerLimit {
        // The server's thread notices the end and removes the client.
        shutdown(descriptor, Int32(SHUT_RDWR))
        return false
      }
      if !isAnswer, alike >= StreamConnection.valueLimit, let oldest = state.queue.firstIndex(where: { !$0.isAnswer }) {
        state.queue.remove(at: oldest)
        traffic.valueDropped()
      }
      state.queue.append(Waiting(bytes: Array(bytes), isAnswer: isAnswer))
      return false
    }
    if mustWait { wantsToWrite() }
  }

  /// Writes waiting bytes until the socket accepts no more. Call this when the socket is writable again.
  ///
  /// - Returns: whether the client is still there
  func writeWaiting() -> Bool {
    state.withLock { state in
      while !state.isClosed {
        if state.partial.isEmpty {
          if state.queue.isEmpty {
            state.behindSince = nil
            return true
          }
          state.partial = state.queue.removeFirst().bytes
        }
        let count = state.partial.withUnsafeBytes { clinux_send_now(descriptor, $0.baseAddress, $0.count) }
        // Only this failed write shows that a client has shut down its reading end.
        if count < 0 { return errno == EAGAIN || errno == EINTR }
        state.behindSince = MonotonicClock().now
        state.partial.removeFirst(count)
      }
      return true
    }
  }

  /// Shuts the connection down; the server's thread then removes the client.
  func hangUp() { state.withLock { if !$0.isClosed { shutdown(descriptor, Int32(SHUT_RDWR)) } } }

  /// Closes the socket. Nothing can be sent afterwards.
  func close() {
    state.withLock { state in
      guard !state.isClosed else { return }
      state.isClosed = true
      Glibc.close(descriptor)
      traffic.clientLeft()
    }
  }
}

/// A service for clients that connect.
protocol StreamOutput: Sendable {
  /// Begins to serve a client.
  ///
  /// - Returns: `nil` if the client has already received everything
  func serve(_ connection: StreamConnection) -> (any StreamSession)?
}

/// Serves one client for the lifetime of its connection.
protocol StreamSession: AnyObject, Sendable {
  /// Whether the client must wait before it sends more.
  var isFull: Bool { get }
  /// Whether bytes of the client wait to be used, so that a client that has ended its sending stays.
  var hasWaiting: Bool { get }
  /// Handles a client's bytes.
  func receive(_ bytes: UnsafeBufferPointer<UInt8>)
  /// Ends every lease after the connection is over.
  func end()
}

extension StreamSession {
  var isFull: Bool { false }
  var hasWaiting: Bool { false }
}
