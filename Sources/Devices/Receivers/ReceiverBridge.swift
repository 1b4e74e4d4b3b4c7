import Guarding
import HardwareIO

/// The way from clients to a receiver's line: at most one client writes, and its bytes wait here for the reader's
/// thread. Neither waits for the other.
///
/// While a client has the right to write, the hub sends the receiver nothing of its own, so that no command of the hub
/// comes between two parts of a client's message. `ReceiverSession.relay` writes the bytes.
public final class ReceiverBridge: Sendable {
  /// The number of waiting bytes from which the client must wait.
  static let mostWaiting = 8192

  private struct State {
    /// The client that has the right to write; `nil` if none has.
    var writer: Writer?
    var waiting: [UInt8] = []
  }

  private struct Writer {
    var name: String
    var hasRoom: @Sendable () -> Void
  }

  private let state = Guarded(State())
  /// Raised when a client gets or gives up the right to write, and with its bytes.
  let signal: WakeSignal

  /// - Parameter corrections: the corrections for the same receiver, which wake the same thread
  public init(with corrections: CorrectionQueue? = nil) { signal = corrections?.signal ?? WakeSignal() }

  /// Gives a client the right to write, until `release`.
  ///
  /// - Parameters:
  ///   - name: the client, for other clients
  ///   - hasRoom: called on the reader's thread when a client that had to wait may send again, and when none of its bytes
  ///     wait any more
  /// - Returns: the name of the client that has the right already; `nil` if the client got it
  public func claim(for name: String, hasRoom: @escaping @Sendable () -> Void) -> String? {
    let other = state.withLock { state in
      if let other = state.writer { return other.name as String? }
      state.writer = Writer(name: name, hasRoom: hasRoom)
      return nil
    }
    if other == nil { signal.raise() }
    return other
  }

  /// Adds bytes of the client that has the right to write. The receiver gets all of them.
  public func write(_ bytes: UnsafeBufferPointer<UInt8>) {
    state.withLock { $0.waiting += bytes }
    signal.raise()
  }

  /// Whether the maximum number of bytes waits, and the client must wait too.
  public var isFull: Bool { state.withLock { $0.waiting.count >= ReceiverBridge.mostWaiting } }

  /// Whether bytes wait for the receiver.
  public var hasWaiting: Bool { waitingCount > 0 }

  /// Takes the right to write back. Bytes that still wait are written, if the receiver is read.
  public func release() {
    state.withLock { $0.writer = nil }
    signal.raise()
  }

  // MARK: The reader's side

  /// Whether a client has the right to write, or has left bytes.
  var isInUse: Bool { state.withLock { $0.writer != nil || !$0.waiting.isEmpty } }

  var hasWriter: Bool { state.withLock { $0.writer != nil } }

  /// Takes the next bytes; empty if none wait.
  func take(atMost count: Int) -> ArraySlice<UInt8> {
    let (bytes, writer) = state.withLock { state in
      let wasFull = state.waiting.count >= ReceiverBridge.mostWaiting
      let bytes = state.waiting.prefix(count)
      state.waiting = Array(state.waiting.dropFirst(count))
      let hasRoom = wasFull && state.waiting.count < ReceiverBridge.mostWaiting
      let isLast = !bytes.isEmpty && state.waiting.isEmpty
      return (bytes, hasRoom || isLast ? state.writer : nil)
    }
    writer?.hasRoom()
    return bytes
  }

  /// The number of bytes that wait.
  var waitingCount: Int { state.withLock { $0.waiting.count } }

  /// Drops the bytes that a client has left, because the line does not accept them. Those of a client that has the right
  /// to write by now stay.
  func dropLeft() { state.withLock { if $0.writer == nil { $0.waiting = [] } } }

  /// Drops the bytes that a client has left, because the receiver is no longer read. They would reach it much later
  /// than meant.
  public func readingEnded() { dropLeft() }

}

/// Writes the bytes of a bridge's client to a line, as fast as the line carries them, and without waiting. It keeps few
/// bytes in the line's buffer, so that the hub's own commands can follow soon after the client has left.
struct BridgeFeed {
  /// The number of unsent bytes up to which more are written.
  private static let mostUnsent = 256

  private let bridge: ReceiverBridge
  /// The bytes that the line has not accepted yet.
  private var rest: ArraySlice<UInt8> = []

  init(_ bridge: ReceiverBridge) { self.bridge = bridge }

  /// The number of bytes that have not been written yet.
  var unwrittenCount: Int { rest.count + bridge.waitingCount }

  /// Whether all bytes have been written and no client has the right to write.
  var isOver: Bool { rest.isEmpty && !bridge.isInUse }

  /// Writes the bytes that the line accepts now.
  ///
  /// - Returns: the time until the line accepts more; `nil` if nothing waits
  mutating func write(to port: any SerialPort, at speed: BaudRate) throws(HardwareError) -> Duration? {
    while true {
      if rest.isEmpty { rest = bridge.take(atMost: BridgeFeed.mostUnsent) }
      if rest.isEmpty { return nil }
      let unsent = port.unsentCount
      if unsent > BridgeFeed.mostUnsent { return speed.time(for: unsent - BridgeFeed.mostUnsent) }
      rest = rest.dropFirst(try port.writeNow(rest))
      if !rest.isEmpty { return speed.time(for: max(port.unsentCount, BridgeFeed.mostUnsent / 4)) }
    }
  }
}
