import Hub
import TestSupport
import Testing

@testable import Outputs

/// Scheduled fixes and known states as clients of the sockets and of the web port request them.
@Suite(.timeLimit(.minutes(10))) struct ScheduledStreamsTests {
  private let web = WebPort()

  private func hub() throws -> ServedHub { try ServedHub(board: HubProcess.simulatedBoard(web.section)) }

  /// A week in seconds: the next fix is far away.
  private static let week = "604800"

  /// Connects, so that the hub waits for a request before it wakes any device.
  private func ask(_ hub: ServedHub, _ request: String) -> SocketClient {
    let client = SocketClient(path: hub.socket, isNamed: true)
    client.send(request + "\n")
    return client
  }

  @Test func `an event stream with an interval gets only the fixes, and the receiver sleeps in between`() async throws {
    let hub = try hub()
    let client = web.events("every=\(Self.week)&accuracy=100&within=60")
    #expect(client.receives(#""schedule":{"met":true,"#), "\(client.text)")
    #expect(hub.comesToRest())
    #expect(!client.text.contains("event: sky"))
    #expect(try hub.device("imu").wakes == 0)
    #expect(web.ask("GET", "/devices").body.contains(#""schedules":[{"holder":"web 127.0.0.1:"#))
    client.leave()
    // No publisher reports that a schedule has ended.
    #expect(try eventually { try hub.device("gps").schedules.isEmpty })
    #expect(try hub.device("gps").wakes == 1)
    await hub.end()
  }

  @Test func `a client can change from fixes to states, and an invalid request is refused`() async throws {
    let hub = try hub()
    let client = ask(hub, #"{"every": \#(Self.week), "accuracy": 100, "name": "log"}"#)
    #expect(client.receives(#""schedule":{"met":true,"#), "\(client.text)")
    #expect(hub.comesToRest())
    for (wrong, reason) in [
      (#"{"every": 60, "rateHz": 5}"#, "cannot be combined with 'rateHz'"), (#"{"accuracy": 10}"#, "needs 'every'"),
      (#"{"every": 0.5}"#, "'every' must be"), (#"{"every": 60, "within": 0}"#, "'within' must be"),
      (#"{"every": 60, "parts": ["position"]}"#, "cannot be combined with 'parts'"),
      (#"{"every": "often"}"#, "'every' must be"), (#"{"every": 60, }, "#, "for regular fixes"),
    ] {
      let other = ask(hub, wrong)
      #expect(other.receives("\"class\":\"ERROR\"") && other.receives(reason), "\(other.text)")
      other.leave()
    }
    #expect(web.ask("GET", "/devices").body.contains(#""schedules":[{"holder":"log["#))
    client.send(#"{"rateHz": 20}"# + "\n")
    #expect(client.receives(lineCount: 11), "\(client.text)")
    #expect(hub.shows("gps") { $0.holders.contains { $0.hasPrefix("log[") } })
    #expect(hub.shows("imu") { $0.wakes > 0 })
    #expect(!web.ask("GET", "/devices").body.contains(#""schedules":"#))
    client.leave()
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `a request for a state up to a maximum age wakes devices once, and is then answered from memory`()
    async throws
  {
    let hub = try hub()
    // A request without a maximum age wakes nothing. One from a page of another site is refused, and wakes nothing.
    #expect(web.ask("GET", "/state").status == 200)
    let foreign = web.ask("GET", "/state?maxAge=0", ["Sec-Fetch-Site: cross-site"])
    #expect(foreign.status == 403)
    #expect(hub.hub.devices.allSatisfy { $0.wakes == 0 })
    let first = web.ask("GET", "/state?maxAge=3600&parts=position")
    #expect(first.status == 200 && first.body.contains(#""position":{"#), "\(first.head)\(first.body)")
    #expect(try hub.device("gps").wakes == 1 && hub.device("imu").wakes == 0)
    #expect(hub.comesToRest())
    for path in ["/state?maxAge=3600&parts=position", "/state", "/state?maxAge=3600&accuracy=10000&parts=position"] {
      let again = web.ask("GET", path)
      #expect(again.status == 200 && again.body.contains(#""position":{"#), "\(again.body)")
    }
    let client = ask(hub, #"{"maxAge": 3600, "parts": ["position"], "name": "phone"}"#)
    #expect(client.receives(#""position":{"#), "\(client.text)")
    let events = web.events("maxAge=3600&parts=position")
    #expect(events.receives(#""position":{"#), "\(events.text)")
    #expect(try hub.device("gps").wakes == 1)
    events.leave()
    client.leave()
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `without a receiver, a request for fixes is refused with the next step`() async throws {
    let hub = try ServedHub(
      board: "{ name: \"test\", devices: { imu: { driver: \"mpu-6050\", bus: \"simulated/i2c\" } }, \(web.section) }")
    let answer = web.ask("GET", "/events?every=60")
    #expect(
      answer.status == 404 && answer.body.contains("this board has no fused receiver"), "\(answer.head)\(answer.body)")
    let client = ask(hub, #"{"every": 60, "name": "log"}"#)
    #expect(client.receives(#"{"class":"ERROR","message":"this board has no fused receiver"#))
    // The client may request other values in its place.
    client.send(#"{"rateHz": 20}"# + "\n")
    #expect(client.receives(#""attitude""#), "\(client.text)")
    client.leave()
    await hub.end()
  }
}
