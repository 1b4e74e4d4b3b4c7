import Hub
import Testing

@testable import Outputs

/// Which clients of a lost broker reconnect quickly.
struct MQTTConnectionTests {
  private let connection: MQTTConnection

  init() throws {
    let broker = try #require(BrokerAddress("mqtt://127.0.0.1"))
    connection = MQTTConnection(MQTTOptions(broker: broker, identifier: "boat"))
  }

  @Test func `a client that views others connects urgently`() { #expect(connection.isAwaited) }

  @Test func `a hub with a viewer connects urgently`() {
    connection.isWatched = false
    #expect(!connection.isAwaited)
    connection.isWatched = true
    #expect(connection.isAwaited)
  }

  @Test func `a hub with something to send connects urgently`() {
    connection.isWatched = false
    connection.retain("sensorhub/boat/fences", [1])
    #expect(connection.isAwaited)
    _ = connection.nextMessage()
    #expect(!connection.isAwaited)
    // These messages were in transit when the connection was lost.
    connection.putBack([Outbox.Message(topic: "sensorhub/boat/state", payload: [2])])
    #expect(connection.isAwaited)
  }

  @Test func `each subscription at a broker is answered once`() throws {
    let broker = try #require(BrokerAddress("mqtt://127.0.0.1"))
    let connection = MQTTConnection(MQTTOptions(broker: broker, identifier: "boat", subscriptions: ["a", "b"]))
    #expect(!connection.subscribed())
    connection.connected(true)
    #expect(connection.subscribed() && !connection.hasSubscribed)
    #expect(connection.subscribed() && connection.hasSubscribed)
    #expect(!connection.subscribed() && connection.hasSubscribed)
  }
}
