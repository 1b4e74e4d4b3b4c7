import Fusion
import Guarding
import Hub
import MonotonicTime
import Publishing

/// The fused state, a JSON object to a line. Connecting subscribes, and so powers the devices.
struct StateOutput: StreamOutput {
  let host: HubHost
  private let encoding = SharedEncoding()

  init(host: HubHost) { self.host = host }

  func serve(_ connection: StreamConnection) -> (any StreamSession)? {
    let session = StateSession(connection, host: host, encoding: encoding)
    session.subscribe(as: connection.peer, rateHz: nil)
    return session
  }
}

/// A client of the state: it may ask for a rate, and give its name.
private final class StateSession: StreamSession {
  private let connection: StreamConnection
  private let host: HubHost
  private let encoding: SharedEncoding
  private let subscription = Guarded<Subscription?>(nil)
  private let requests = Guarded(StateRequests())

  init(_ connection: StreamConnection, host: HubHost, encoding: SharedEncoding) {
    self.connection = connection
    self.host = host
    self.encoding = encoding
  }

  func subscribe(as name: String, rateHz: Double?) {
    let new = host.state(rateHz: rateHz).subscribe(
      as: name,
      receiveValue: { [connection, encoding, host] state in
        encoding.withBytes(
          at: state.at, encode: { StateReport.write(host.dated(state), to: &$0) }, connection.send)
      })
    let old = subscription.withLock { subscription in
      defer { subscription = new }
      return subscription
    }
    // The new subscription stands before the old one goes: changing the rate is no reason for a power cycle.
    old?.cancel()
  }

  func receive(_ bytes: UnsafeBufferPointer<UInt8>) {
    for request in requests.withLock({ $0.take(bytes) }) { serve(request) }
  }

  private func serve(_ request: StateRequests.Request?) {
    guard let request else {
      let answer = #"{"class":"ERROR","message":"send {\"rateHz\": 0.01 to 1000, \"name\": \"who you are\"}"}"# + "\n"
      return Array(answer.utf8).withUnsafeBufferPointer(connection.answer)
    }
    // The process stays, whatever it calls itself.
    let process = connection.peer.lastIndex(of: "[").map { connection.peer[$0...] } ?? ""
    let name = request.name.flatMap(ClientName.shown).map { "\($0)\(process)" }
    subscribe(as: name ?? connection.peer, rateHz: request.rateHz)
  }

  func end() { subscription.withLock { $0 }?.cancel() }
}
