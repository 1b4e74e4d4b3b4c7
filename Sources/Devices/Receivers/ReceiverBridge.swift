import Guarding
import HardwareIO
import MonotonicTime

/// Carries bytes from clients to a receiver's line. At most one client writes at a time, and its bytes wait here for
/// the reader's thread. The client and the thread do not wait for each other.
///
/// While a client has the right to write, the hub sends the receiver nothing of its own, so that no command of the hub
/// comes between two parts of a client's message. `ReceiverSession.relay` writes the bytes.
public final class ReceiverBridge: Sendable {
  /// If this number of bytes waits, the client must stop sending until there is room.
  static let mostWaiting = 8192
  /// How long bytes wait if the receiver takes none. Neither the pause after a failure nor the search for the
  /// receiver's speed takes this long, so bytes are not dropped in the meantime.
  static let patience = Duration.seconds(180)

  private struct State {
    /// The client that has the right to write; `nil` if none has.
    var writer: Writer?
    var waiting: [UInt8] = []
    /// The clients that have left since the hub last found the receiver.
    var departures: [Departure] = []
    /// The last progress: when the receiver last took bytes, or when the oldest bytes or departures began to wait.
    var since = MonotonicInstant(nanoseconds: 0)

    var deadline: MonotonicInstant? {
      waiting.isEmpty && departures.isEmpty ? nil : since + ReceiverBridge.patience
    }
  }

  private struct Writer {
    var name: String
    var hasRoom: @Sendable () -> Void
    var lostBytes: @Sendable () -> Void
    /// Whether the receiver has taken bytes of this client, and may have changed.
    var hasWritten = false
  }

  private struct Departure {
    var settled: @Sendable () -> Void
  }

  private let state = Guarded(State())
  private let clock: any MonotonicTimeSource
  private let alarm: Alarm
  /// A signal that wakes the reader's thread. It is raised when a client gets or gives up the right to write, and when
  /// it sends bytes.
  let signal: WakeSignal

  /// - Parameter corrections: the corrections for the same receiver, which wake the same thread
  public init(with corrections: CorrectionQueue? = nil, clock: any MonotonicTimeSource = MonotonicClock()) {
    signal = corrections?.signal ?? WakeSignal()
    self.clock = clock
    alarm = Alarm(clock: clock)
  }

  /// Gives a client the right to write, until `release`. The client must keep the receiver awake until then. The hub
  /// finds the receiver again only after the last client has left, so clients that left earlier need not keep it awake
  /// any longer.
  ///
  /// - Parameters:
  ///   - name: the client's name, as other clients see it
  ///   - hasRoom: called on the reader's thread when a client that had to wait may send again, and when none of its
  ///     bytes wait any more
  ///   - lostBytes: called when the client's bytes are dropped, because the receiver has taken none for `patience`
  /// - Returns: the name of the client that has the right already; `nil` if the client got it
  public func claim(
    for name: String, hasRoom: @escaping @Sendable () -> Void, lostBytes: @escaping @Sendable () -> Void = {}
  ) -> String? {
    let other = state.withLock { state in
      if let other = state.writer { return other.name as String? }
      state.writer = Writer(name: name, hasRoom: hasRoom, lostBytes: lostBytes)
      return nil
    }
    if other == nil {
      settle()
      signal.raise()
    }
    return other
  }

  /// Adds bytes of the client that has the right to write. The receiver gets all of them, unless it takes none for
  /// `patience`. Bytes older than that are dropped, because they would reach the receiver much later than intended.
  public func write(_ bytes: UnsafeBufferPointer<UInt8>) {
    let now = clock.now
    let isFirst = state.withLock { state in
      defer { state.waiting += bytes }
      guard state.waiting.isEmpty else { return false }
      state.since = now
      return true
    }
    if isFirst { setAlarm() }
    signal.raise()
  }

  private func setAlarm() {
    alarm.set(asking: { state.withLock { $0.deadline } }) { [weak self] in self?.expire() }
  }

  private func expire() {
    let now = clock.now
    let writer = state.withLock { state -> Writer? in
      guard let deadline = state.deadline, deadline <= now, !state.waiting.isEmpty else { return nil }
      state.waiting = []
      return state.writer
    }
    writer?.lostBytes()
    if let deadline = state.withLock({ $0.deadline }), deadline > now { return setAlarm() }
    settle()
  }

  private func settle() {
    let departures = state.withLock { state in
      defer { state.departures = [] }
      return state.departures
    }
    for departure in departures { departure.settled() }
  }

  /// Whether the maximum number of bytes waits, and the client must wait too.
  public var isFull: Bool { state.withLock { $0.waiting.count >= ReceiverBridge.mostWaiting } }

  /// Whether bytes wait for the receiver.
  public var hasWaiting: Bool { waitingCount > 0 }

  /// Ends the client's right to write. Bytes that still wait are written, if the receiver is read.
  ///
  /// - Parameter settled: called when the hub has found the receiver again, after which it knows what the client has
  ///   changed, or when it no longer looks for the receiver
  public func release(settled: (@Sendable () -> Void)? = nil) {
    let now = clock.now
    let isSettled = state.withLock { state in
      defer { state.writer = nil }
      guard let settled, state.writer?.hasWritten == true || !state.waiting.isEmpty else { return true }
      state.departures.append(Departure(settled: settled))
      state.since = now
      return false
    }
    if isSettled { settled?() } else { setAlarm() }
    signal.raise()
  }

  // MARK: The reader's side

  /// Whether a client has the right to write, or bytes of a departed client still wait.
  var isInUse: Bool { state.withLock { $0.writer != nil || !$0.waiting.isEmpty } }

  var hasWriter: Bool { state.withLock { $0.writer != nil } }

  /// Removes and returns the next bytes; empty if none wait.
  func take(atMost count: Int) -> ArraySlice<UInt8> {
    let now = clock.now
    let (bytes, writer) = state.withLock { state in
      state.since = now
      let wasFull = state.waiting.count >= ReceiverBridge.mostWaiting
      let bytes = state.waiting.prefix(count)
      if !bytes.isEmpty { state.writer?.hasWritten = true }
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

  /// Drops the bytes that a departed client has left, because the line does not accept them. If another client has the
  /// right to write now, its bytes stay.
  func dropLeft() { state.withLock { if $0.writer == nil { $0.waiting = [] } } }

  /// Drops the bytes that a departed client has left, because the receiver is no longer read. Kept bytes would reach
  /// the receiver much later than intended.
  public func readingEnded() {
    dropLeft()
    settle()
  }

  /// Records that the hub has found the receiver. Its settings are then known again, unless a client writes.
  func receiverFound() { if !isInUse { settle() } }
}

/// Writes the bytes of a bridge's client to a line, as fast as the line carries them, and without waiting. It keeps few
/// bytes in the line's buffer, so that the hub's own commands can follow soon after the client has left.
struct BridgeFeed {
  /// The number of unsent bytes up to which more are written.
  private static let mostUnsent = 256

  private let bridge: ReceiverBridge
  /// The bytes that were taken from the bridge, but that the line has not accepted yet.
  private var rest: ArraySlice<UInt8> = []
  /// Whether the written bytes end in the middle of a message.
  private var end = HalfMessage()

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
      let count = try port.writeNow(rest)
      end.take(rest.prefix(count))
      rest = rest.dropFirst(count)
      if !rest.isEmpty { return speed.time(for: max(port.unsentCount, BridgeFeed.mostUnsent / 4)) }
    }
  }

  /// Ends a message that the client has sent only in part, so that the receiver does not take the hub's next command
  /// for the rest of it. Does not wait for a line that accepts nothing.
  func endMessage(on port: any SerialPort) throws(HardwareError) {
    let filler = end.filler
    if !filler.isEmpty { _ = try port.writeNow(filler[...]) }
  }
}
