import Devices
import Fusion
import Glibc
import Guarding
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Outputs

/// A delayed state does not reach a client after a newer one.
struct OvertakenTests {
  private let late: LateHub

  init() throws { late = try LateHub() }

  @Test func `a gpsd client gets nothing that is older than its greeting`() throws {
    let client = LateClient()
    let session = try #require(GPSDOutput(host: late.host).serve(client.connection))
    late.begin(rateHz: nil)
    late.overtake(duringWhat: { client.say(#"?WATCH={"enable":true,"json":true};"#, to: session) })
    late.report(9)
    // The times are those of the greeting and the states after it. Without a position there is none.
    let times = client.lines.filter { $0.contains("\"class\":\"TPV\"") }.compactMap {
      LateClient.seconds($0, behind: "\"time\":\"", 23)
    }
    #expect(times == [8, 9], "\(client.lines)")
    session.end()
  }

  @Test func `a client of fused sentences gets nothing that is older than its greeting`() throws {
    let client = LateClient()
    let output = NMEAOutput(host: late.host, feed: late.hub.board.nmea[0].feed)
    late.begin(rateHz: nil)
    var session: (any StreamSession)?
    late.overtake(duringWhat: { session = output.serve(client.connection) })
    late.report(9)
    let times = client.lines.compactMap { LateClient.seconds($0, behind: "RMC,", 9) }
    #expect(times == [8, 9], "\(client.lines)")
    session?.end()
  }

  @Test func `a client of the state that changes its rate gets each state once, and no older one`() throws {
    let client = LateClient()
    late.begin(rateHz: 1)
    let session = try #require(StateOutput(host: late.host).serve(client.connection))
    client.say(#"{"rateHz": 1, "parts": ["position", "pressure"]}"# + "\n", to: session)
    // A client gets everything until it has sent a request. Wait until that subscription, if there was one, has ended.
    #expect(late.hub.waits { late.supplyHolders.isEmpty })
    late.report(7)
    late.overtake(duringWhat: {
      client.say(#"{"rateHz": 10, "parts": ["position", "pressure", "supply"]}"# + "\n", to: session)
    })
    late.report(9)
    let times = client.lines.compactMap { LateClient.number($0, behind: "\"monotonic\":", 9) }
    // The first state existed before the client came.
    #expect(times == [25, 27, 27.5, 28, 29], "\(client.lines)")
    session.end()
  }

  @Test func `a broker gets the states of a stream in their order, for all viewers together`() throws {
    let broker = try #require(BrokerAddress("mqtt://127.0.0.1"))
    let connection = MQTTConnection(MQTTOptions(broker: broker, identifier: "boat"))
    let publisher = FleetPublisher(
      host: late.host, connection: connection, topics: HubTopics(topic: "sensorhub", hub: "boat"))
    for seconds in [1, 3, 2, 3, 4] { publisher.send(FusedState(at: LateHub.instant(seconds)), .state) }
    publisher.send(FusedState(at: LateHub.instant(2)), .part(.position))
    var sent: [String] = []
    while let message = connection.nextMessage() {
      let text = String(decoding: message.payload, as: UTF8.self)
      let seconds = LateClient.seconds(text, behind: "\"monotonic\":", 9).map { "\($0)" } ?? text
      sent.append("\(message.topic) \(seconds)")
    }
    let root = "sensorhub/boat/state"
    #expect(sent == ["\(root) 21", "\(root) 23", "\(root) 24", "\(root)/position 22"])
    #expect(publisher.count(of: .state) == 3)
  }
}
