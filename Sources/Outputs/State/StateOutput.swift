import FoundationEssentials
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
  private let request = Guarded<[UInt8]>([])

  init(_ connection: StreamConnection, host: HubHost, encoding: SharedEncoding) {
    self.connection = connection
    self.host = host
    self.encoding = encoding
  }

  /// What a client may ask for, a JSON object to a line: `{"rateHz": 5, "name": "watch"}`.
  private struct Request: Decodable {
    var rateHz: Double?
    var name: String?
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
    let lines = request.withLock { request -> [[UInt8]] in
      request += bytes
      var lines = request.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
      request = lines.removeLast()
      // A request is short; what grows without an end is none.
      if request.count > 4096 { request = [] }
      return lines
    }
    for line in lines where !line.isEmpty { serve(line) }
  }

  private func serve(_ line: [UInt8]) {
    guard let request = try? JSONDecoder().decode(Request.self, from: Data(line)),
      request.rateHz.map({ (0.01...1000).contains($0) }) ?? true
    else {
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
