import Publishing
import Testing

@testable import Hub
@testable import Outputs

/// The leases of a client of the gpsd protocol.
struct GPSDSessionTests {
  @Test func `a watch that ends while its leases begin keeps no device awake`() throws {
    let late = try LateHub()
    let client = LateClient()
    let session = try #require(GPSDOutput(host: late.host).serve(client.connection))
    // A new board may end the watch on any thread, also while the server's thread takes the leases.
    let end = late.hub.states.fused.activity.subscribe(
      as: "test", receiveValue: { activity in if activity.subscriberCount > 0 { session.end() } })
    client.say(#"?WATCH={"enable":true,"json":true};"#, to: session)
    end.cancel()
    #expect(client.lines.contains { $0.contains("\"class\":\"WATCH\"") })
    #expect(late.hub.states.fused.activity.value.subscriberCount == 0)
    #expect(late.hub.devices.allSatisfy { $0.holders.isEmpty })
    session.end()
  }
}
