import Publishing
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// The leases of a client of the gpsd protocol.
struct GPSDSessionTests {
  @Test func `a watch that ends while its leases begin keeps no device awake`() throws {
    let late = try LateHub()
    let client = LateClient()
    let session = try #require(GPSDOutput(host: late.host).serve(client.connection))
    // A new board may end the watch on any thread, even while the server's thread takes the leases.
    let end = late.hub.states.fused.activity.subscribe(
      as: "test", receiveValue: { activity in if activity.subscriberCount > 0 { session.end() } })
    client.say(#"?WATCH={"enable":true,"json":true};"#, to: session)
    end.cancel()
    #expect(client.lines.contains { $0.contains("\"class\":\"WATCH\"") })
    #expect(late.hub.states.fused.activity.value.subscriberCount == 0)
    #expect(late.hub.devices.allSatisfy { $0.holders.isEmpty })
    session.end()
  }

  @Test func `a watch that changes one member does not interrupt the other streams`() throws {
    let late = try LateHub()
    let client = LateClient()
    let session = try #require(GPSDOutput(host: late.host).serve(client.connection))
    client.say(#"?WATCH={"json":true};"#, to: session)
    let counts = Recorder<Int>()
    let activity = late.hub.states.fused.activity.subscribe(
      as: "test", receiveValue: { counts.append($0.subscriberCount) })
    for members in [#""nmea":true"#, #""raw":2"#, #""pps":true"#, #""nmea":false,"raw":0"#, #""attitudeRate":5"#] {
      client.say("?WATCH={\(members)};", to: session)
    }
    #expect(!counts.values.isEmpty && counts.values.allSatisfy { $0 == 1 }, "\(counts.values)")
    activity.cancel()
    session.end()
    #expect(late.hub.states.fused.activity.value.subscriberCount == 0)
  }

  @Test func `a receiver that the old and the new watch need stays awake when the watch changes`() throws {
    let late = try LateHub()
    let client = LateClient()
    let session = try #require(GPSDOutput(host: late.host).serve(client.connection))
    client.say(#"?WATCH={"json":true};"#, to: session)
    let readings = try #require(late.hub.receivers.candidates.first).reader.device.readings
    #expect(readings.activity.waits { $0.subscriberCount > 0 })
    let counts = Recorder<Int>()
    let activity = readings.activity.subscribe(as: "test", receiveValue: { counts.append($0.subscriberCount) })
    client.say(#"?WATCH={"json":false,"nmea":true};"#, to: session)
    #expect(late.hub.states.fused.activity.value.subscriberCount == 0)
    client.say(#"?WATCH={"json":true,"nmea":false};"#, to: session)
    #expect(!counts.values.isEmpty && counts.values.allSatisfy { $0 > 0 }, "\(counts.values)")
    activity.cancel()
    session.end()
    #expect(late.hub.waits { late.hub.devices.allSatisfy { $0.holders.isEmpty } })
  }
}
