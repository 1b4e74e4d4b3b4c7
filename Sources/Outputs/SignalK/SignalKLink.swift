import Fusion
import Guarding
import HardwareIO
import Hub
import MonotonicTime

/// A hub's connection to a Signal K server, on a thread of its own.
///
/// The hub is connected only while there are states to send: the thread connects when the devices wake, and disconnects
/// when they sleep. In between it sleeps without a timer. Other threads only put messages into the queue.
final class SignalKLink: PeerLink {
  private struct State {
    /// Whether there are states to send.
    var isWanted = false
    /// The deltas of the present connection; `nil` without a connection.
    var sender: SignalKSender?
    /// The waiting messages. The queue holds only a few seconds of them, so that no value is old when it is sent.
    var queue = BoundedQueue<[UInt8]>(limit: SignalKLink.queueLimit)
  }

  /// The maximum number of waiting bytes, enough for several seconds of deltas.
  private static let queueLimit = 32 * 1024
  /// After a connection of this length, the next pause before a retry is short again.
  private static let lasting = Duration.seconds(10)

  private let server: SignalKServer
  /// The access at the start of the thread.
  private let access: SignalKAccess
  private let version: String
  private let traffic: OutputTraffic.Kind
  private let sink: JournalSink
  private let patience: SignalKConnection.Patience
  private let clock: any MonotonicTimeSource
  private let stop = StopSignal()
  private let wake = WakeSignal()
  private let state = Guarded(State())

  init(
    _ server: SignalKServer, _ access: SignalKAccess, version: String, traffic: OutputTraffic.Kind, sink: JournalSink,
    patience: SignalKConnection.Patience = .init(), clock: any MonotonicTimeSource
  ) {
    self.server = server
    self.access = access
    self.version = version
    self.traffic = traffic
    self.sink = sink
    self.patience = patience
    self.clock = clock
  }

  func start() {
    let error = DetachedThread.start("signalk") { [self] in run() }
    if error != 0 { sink.write(.warning, "Signal K: cannot start a thread for \(server)") }
  }

  func end() { stop.set() }

  /// Queues the values of a state that are due. Returns at once.
  ///
  /// - Parameter lastKnown: the last known position
  func send(_ fused: FusedState, lastKnown: FusedState.Position?) {
    let isWanted = fused.mode != .asleep
    let (isNews, dropped) = state.withLock { state in
      let isChange = state.isWanted != isWanted
      state.isWanted = isWanted
      guard isWanted, let messages = state.sender?.messages(of: fused, lastKnown: lastKnown) else {
        return (isChange, 0)
      }
      let dropped = messages.reduce(0) { $0 + state.queue.append($1, size: $1.count) }
      return (isChange || !messages.isEmpty, dropped)
    }
    if dropped > 0 { traffic.valuesDropped(dropped) }
    if isNews { wake.raise() }
  }

  // MARK: On its thread

  private func run() {
    let poller = Poller(stop: stop.fileDescriptor, clock: clock)
    var access = access
    var backoff = ReconnectBackoff()
    var nextTry: MonotonicInstant?
    // The last report in the log: the problem, an empty text for a connection, or `nil` for none.
    var said: String?
    while !stop.isSet {
      let rest = nextTry.map { $0 - clock.now } ?? .zero
      let isWanted = state.withLock { $0.isWanted }
      guard isWanted, rest <= .zero else {
        // Without states to send, the thread has no reason to retry, so it waits without a limit.
        _ = poller.wait(for: wake.fileDescriptor, atMost: isWanted ? rest : nil)
        wake.clear()
        continue
      }
      let startedAt = clock.now
      do throws(SignalKServerError) {
        try serve(poller, &access) {
          if said != "" { sink.write(.notice, "Signal K: values go to \(server)") }
          said = ""
        }
        backoff.reset()
      } catch {
        if error.isStop { break }
        let error = server.tokenFile == nil ? access.failed(error) : error
        if clock.now - startedAt >= SignalKLink.lasting { backoff.reset() }
        nextTry = clock.now + (error.isRefusal ? backoff.afterRefusal() : backoff.next())
        let problem = error.text(of: server)
        if problem != said { sink.write(.warning, error.isFinal ? problem : "\(problem); the hub tries again") }
        said = problem
        // Without a person's decision nothing changes, so the thread only waits for its end.
        if error.isFinal { _ = poller.wait(for: nil) }
      }
    }
  }

  /// Sends messages until there are no more states to send.
  ///
  /// - Parameter connected: called when the server accepts messages
  private func serve(
    _ poller: Poller, _ access: inout SignalKAccess, connected: () -> Void
  ) throws(SignalKServerError) {
    let token = try token(poller, &access)
    var connection = try SignalKConnection.open(
      to: server, token: token, version: version, poller, patience, clock)
    state.withLock { state in
      state.sender = SignalKSender()
      state.queue.removeAll()
    }
    defer { state.withLock { $0.sender = nil } }
    connected()
    do throws(SignalKServerError) {
      while true {
        let (isWanted, message) = state.withLock { ($0.isWanted, $0.queue.popFirst()) }
        if let message {
          try connection.send(message)
        } else if isWanted {
          try connection.wait(or: wake)
        } else {
          return connection.leave()
        }
      }
    } catch {
      if error.isStop { connection.leave() }
      throw error
    }
  }

  private func token(_ poller: Poller, _ access: inout SignalKAccess) throws(SignalKServerError) -> String? {
    guard let file = server.tokenFile else {
      if server.transport == .tcp { return nil }
      return try access.token { (request) throws(SignalKServerError) in
        try SignalKConnection.ask(request, of: server, poller, patience, clock)
      }
    }
    if let reason = SecretFile.refusal(ofBoards: file) { throw .unreadableToken(file: file, reason: reason) }
    let token: String
    do throws(SecretFile.Failure) {
      token = String(decoding: try SecretFile.read(file, orCredential: "")?.secret ?? [], as: UTF8.self)
    } catch {
      throw .unreadableToken(file: error.file, reason: error.reason)
    }
    // A server takes a client with an empty token for one without, and drops its values without an answer.
    if token.isEmpty { throw .unreadableToken(file: file, reason: "it is empty") }
    return token
  }
}
