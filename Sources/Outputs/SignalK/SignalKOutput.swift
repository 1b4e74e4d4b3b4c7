import Fusion
import Guarding
import Hub
import Publishing

/// Signal K's deltas over TCP. The hub greets a client with a hello. A connection wakes no device. A subscription
/// powers the devices that its paths need, until the client ends it or leaves.
struct SignalKOutput: StreamOutput {
  let host: HubHost

  init(host: HubHost) { self.host = host }

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    let session = SignalKSession(connection, host: host)
    session.greet()
    return session
  }
}

private final class SignalKSession: StreamSession {
  private struct State {
    var subscriptions = SignalKSubscriptions()
    var lease: Subscription?
    var isOver = false
  }

  /// The parts and the rate that the lease must provide.
  private struct Need: Equatable {
    var parts: Set<StatePart>
    var rateHz: Double?
  }

  private let connection: StreamConnection
  private let host: HubHost
  private let context: String
  private let requests = Guarded(SignalKRequests())
  private let state = Guarded(State())
  private let need = Guarded<Need?>(nil)

  init(_ connection: StreamConnection, host: HubHost) {
    self.connection = connection
    self.host = host
    context = SignalKVessel.context(mmsi: host.hub.board.signalK?.mmsi)
  }

  func greet() {
    answer { SignalKDelta.writeHello(version: host.version, context: context, to: &$0) }
  }

  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
    for line in requests.withLock({ $0.take(bytes) }) {
      switch line {
      case .message(let message): serve(message)
      case .refused(let reason): refuse(reason)
      }
    }
  }

  private func serve(_ message: SignalKRequests.Message) {
    guard isOwn(message.context ?? "vessels.self") else { return }
    var isFull = false
    let new = state.withLock { state in
      for path in message.unsubscribe ?? [] { state.subscriptions.remove(path.path) }
      var new: [SignalKPath] = []
      for subscription in message.subscribe ?? [] {
        if let paths = state.subscriptions.add(subscription) { new += paths } else { isFull = true }
      }
      return new
    }
    if isFull { refuse("a client can have \(SignalKSubscriptions.limit) subscriptions: unsubscribe from some") }
    if !new.isEmpty { answer { SignalKDelta.writeMeta(new, context: context, to: &$0) } }
    renew()
  }

  /// Whether a message is about the board's own vessel. The hub knows no other vessel.
  private func isOwn(_ wanted: String) -> Bool {
    ["vessels.self", "self", "vessels.*", "*", context].contains(wanted)
  }

  /// Replaces the lease with one for the present subscriptions.
  private func renew() {
    let wanted = state.withLock { state in
      state.subscriptions.isEmpty
        ? nil : Need(parts: state.subscriptions.parts, rateHz: state.subscriptions.rateHz)
    }
    let isNews = need.withLock { need in
      defer { need = wanted }
      return need != wanted
    }
    guard isNews else { return }
    let new = wanted.map { wanted in
      // Without a rate, the session takes every state and sends changed values.
      let states =
        wanted.rateHz.map { host.hub.state(rateHz: $0, parts: wanted.parts) } ?? host.hub.state(parts: wanted.parts)
      return states.subscribe(
        as: connection.peer.holder("signalk"), receiveValue: { [weak self] in self?.send($0) })
    }
    let old = state.withLock { state in
      guard !state.isOver else { return new }
      defer { state.lease = new }
      return state.lease
    }
    // Begin the new lease before ending the old one, so that a new period causes no power cycle.
    old?.cancel()
  }

  private func send(_ fused: FusedState) {
    guard fused.mode != .asleep else { return }
    let lastKnown = fused.position == nil ? host.hub.lastKnownPosition : nil
    state.withLock { state in
      let values = state.subscriptions.take(fused, lastKnown: lastKnown)
      guard !values.isEmpty else { return }
      var json = JSONWriter(capacity: 1024)
      json.lineEnd = "\r\n"
      SignalKDelta.write(values, of: fused, context: context, to: &json)
      // The message is queued under the lock to keep the order.
      connection.send(json.bytes)
    }
  }

  private func refuse(_ reason: String) {
    answer { json in
      json.beginObject()
      json.member("errorMessage", reason)
      json.endObject()
      json.endLine()
    }
  }

  private func answer(_ write: (inout JSONWriter) -> Void) {
    var json = JSONWriter(capacity: 1024)
    json.lineEnd = "\r\n"
    write(&json)
    connection.answer(json.bytes)
  }

  func end() {
    let lease = state.withLock { state in
      state.isOver = true
      defer { state.lease = nil }
      return state.lease
    }
    lease?.cancel()
  }
}
