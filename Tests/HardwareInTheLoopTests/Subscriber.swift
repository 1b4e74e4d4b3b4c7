import FoundationEssentials
import TestSupport

/// A client of the hub's state. Connecting subscribes; closing the connection ends the lease.
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

  /// - Parameter parts: the parts of the state to request; `nil` to request nothing, which returns all parts
  init(_ hub: HubProcess, parts: [String]? = nil) {
    client = SocketClient(path: hub.socket)
    if let parts {
      client.send("{\"parts\": [\(parts.map { "\"\($0)\"" }.joined(separator: ", "))]}\n")
    }
  }

  func leave() { client.leave() }
  func forget() { client.forget() }
  var lineCount: Int { client.lineCount }

  /// Waits until at least `count` lines have arrived. Returns false if the hub closes first.
  func receives(lineCount count: Int) -> Bool { client.receives(lineCount: count) }

  /// Waits until a state meets a condition. Returns false if the hub closes first.
  func receives(_ isMet: (State) -> Bool) -> Bool { client.receives { _ in states.contains(where: isMet) } }

  /// The states received until now.
  var states: [State] {
    client.bytes.split(separator: 10).compactMap { try? JSONDecoder().decode(State.self, from: Data($0)) }
  }
}
