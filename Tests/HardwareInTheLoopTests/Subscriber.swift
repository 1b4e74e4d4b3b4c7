import FoundationEssentials
import TestSupport

/// A client of the hub's state: connecting subscribes, closing ends the lease.
final class Subscriber: Sendable {
  struct State: Decodable {
    struct Part: Decodable {
      var age: Double
      var source: String
    }
    var mode: String
    var monotonic: Double
    var position: Part?
    var rates: Part?
  }

  private let client: SocketClient

  /// - Parameter parts: what it wants of the state; `nil` for all, without a word
  init(_ hub: HubProcess, parts: [String]? = nil) {
    client = SocketClient(path: hub.socket)
    if let parts {
      client.send("{\"parts\": [\(parts.map { "\"\($0)\"" }.joined(separator: ", "))]}\n")
    }
  }

  func leave() { client.leave() }
  func forget() { client.forget() }
  var lineCount: Int { client.lineCount }

  /// The states that have come so far.
  var states: [State] {
    client.bytes.split(separator: 10).compactMap { try? JSONDecoder().decode(State.self, from: Data($0)) }
  }
}
