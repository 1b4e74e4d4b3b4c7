import Guarding
import Hub
import MonotonicTime
import Publishing

/// The raw bridge: clients such as u-center and PyGPSClient exchange bytes with one receiver, as if they were connected
/// to its line. A connection keeps the receiver awake.
///
/// Every client reads. The first client that sends something gets the right to write until it leaves. Another client
/// that sends something in the meantime is disconnected, because an ignored command would look like a defect.
final class BridgeOutput: StreamOutput {
  private static let window = Duration.seconds(60)

  private let host: HubHost
  private let sink: JournalSink
  private let lines: RepeatedLines

  init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
    lines = RepeatedLines(limit: 5, within: BridgeOutput.window, clock: MonotonicClock()) { count in
      sink.write(.warning, "\(StreamKind.bridge.title): \(count) more clients disconnected within 60 s")
    }
  }

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    guard let bridge = host.hub.board.bridge else { return nil }
    let session = BridgeSession(connection, to: bridge.device, of: host.hub, output: self)
    session.start()
    return session
  }

  /// Counts and logs a client that is disconnected.
  fileprivate func disconnects(_ peer: ClientPeer, because reason: String) {
    host.traffic.bridge.clientRefused()
    if lines.admit() { sink.write(.warning, "\(StreamKind.bridge.title): \(peer) is disconnected: \(reason)") }
  }
}

private final class BridgeSession: StreamSession {
  private struct State {
    /// The power lease; `nil` before the start and after the end.
    var lease: Subscription?
    /// The client's right to write; `nil` until the client sends something.
    var writer: BridgeWriter?
    var isOver = false
  }

  private let connection: StreamConnection
  private let device: String
  private let hub: Hub
  private let output: BridgeOutput
  private let state = Guarded(State())
  private let lifetime = Lifetime()

  init(_ connection: StreamConnection, to device: String, of hub: Hub, output: BridgeOutput) {
    self.connection = connection
    self.device = device
    self.hub = hub
    self.output = output
  }

  func start() {
    let holder = connection.peer.holder("bridge")
    hub.observeRawBytes(of: device, as: holder) { [weak self] in self?.send($0) }.store(in: lifetime)
    hold(as: holder)
  }

  /// Keeps the receiver awake, from now on as this holder.
  private func hold(as holder: Holder) {
    let new = hub.powerLease(of: device).subscribe(as: holder, receiveValue: { _ in })
    let old = state.withLock { state in
      guard !state.isOver else { return new as Subscription? }
      defer { state.lease = new }
      return state.lease
    }
    // Begin the new lease before ending the old one, so that the receiver stays awake.
    old?.cancel()
  }

  private func send(_ bytes: [UInt8]) {
    let isBehind = bytes.withUnsafeBufferPointer { !connection.sendWhole($0) }
    if isBehind { output.disconnects(connection.peer, because: "it does not read what \(device) sends") }
  }

  /// Whether the client must wait until the receiver's line has taken its bytes.
  var isFull: Bool {
    guard let writer = state.withLock({ $0.writer }) else { return false }
    // A receiver of an earlier board takes no more bytes. The next bytes go to its successor.
    return writer.isFull && hub.isInService(writer)
  }

  /// Whether the client's last bytes wait for the receiver, which stays awake as long as the client stays.
  var hasWaiting: Bool {
    guard let writer = state.withLock({ $0.writer }) else { return false }
    return writer.hasWaiting && hub.isInService(writer)
  }

  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
    if let writer = writer() { writer.write(bytes) }
  }

  /// The right to write; `nil` if the client does not get it, and is disconnected.
  private func writer() -> BridgeWriter? {
    // The server's thread alone changes the writer.
    if let present = state.withLock({ $0.writer }) {
      if hub.isInService(present) { return present }
      present.end()
    }
    let claim = hub.claimBridge(
      to: device, for: "\(connection.peer)", hasRoom: { [connection] in connection.reconsider() },
      lostBytes: { [weak self] in self?.leave("the receiver has taken none of its bytes for three minutes") })
    switch claim {
    case .granted(let writer):
      state.withLock { $0.writer = writer }
      let peer = connection.peer
      hold(as: Holder("bridge writer \(peer)", payer: Payer("bridge \(peer.name)")))
      return writer
    case .taken(let other):
      leave("\(other) writes to \(device), and only one client may write: disconnect that one first")
    case .missing: leave("\(device) cannot be written to")
    }
    return nil
  }

  private func leave(_ reason: String) {
    output.disconnects(connection.peer, because: reason)
    connection.hangUp()
  }

  func end() {
    lifetime.end()
    let (lease, writer) = state.withLock { state in
      state.isOver = true
      defer { (state.lease, state.writer) = (nil, nil) }
      return (state.lease, state.writer)
    }
    guard let writer, hub.isInService(writer) else {
      writer?.end()
      lease?.cancel()
      return
    }
    writer.end(keeping: lease)
  }
}
