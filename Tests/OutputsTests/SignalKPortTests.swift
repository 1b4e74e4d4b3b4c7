import Hub
import TestSupport
import Testing

/// Signal K over TCP. Its server is not available here, so the client follows the specification.
@Suite(.timeLimit(.minutes(5))) struct SignalKPortTests {
  private let port = SocketClient.freePort()

  private func subscribe(_ path: String, _ more: String = "") -> String {
    #"{"context":"vessels.self","subscribe":[{"path":"\#(path)"\#(more)}]}"# + "\r\n"
  }

  @Test func `a Signal K client gets a greeting, and only the devices for its subscriptions are awake`() async throws {
    let hub = try ServedHub("signalk: { port: \(port), mmsi: \"244123456\" }")
    let client = WireClient(port: port)
    #expect(client.receives("\r\n"))
    let vessel = "vessels.urn:mrn:imo:mmsi:244123456"
    #expect(client.text.hasPrefix(#"{"name":"SensorHub "#), "\(client.text)")
    #expect(client.text.contains(#""self":"\#(vessel)","roles":["master","main"]}"#), "\(client.text)")
    #expect(hub.hasWokenNothing)

    client.send(subscribe("navigation.attitude", #","period":200"#))
    #expect(client.receives(#"{"path":"navigation.attitude","value":{"roll":"#), "\(client.text)")
    #expect(client.text.contains(#""meta":[{"path":"navigation.attitude","value":{"description":"#))
    #expect(client.text.contains(#"{"context":"\#(vessel)","updates":[{"$source":"sensorhub.imu","#), "\(client.text)")
    #expect(try hub.device("imu").holders.contains { $0.hasPrefix("signalk 127.0.0.1:") })
    #expect(try hub.device("gps").wakes == 0)

    client.send(subscribe("navigation.position", #","policy":"instant""#))
    #expect(client.receives(#"{"path":"navigation.position","value":{"longitude":13."#), "\(client.text)")
    client.send(#"{"context":"*","unsubscribe":[{"path":"navigation.position"}]}"# + "\r\n")
    #expect(hub.shows("gps", .off))
    #expect(try hub.device("imu").holders.count == 1)
    client.send("what is this\r\n")
    #expect(client.receives(#"{"errorMessage":"send one JSON object"#), "\(client.text)")
    client.leave()
    #expect(hub.comesToRest())
    // A browser's request reaches no session.
    let browser = WireClient(port: port)
    browser.send("POST / HTTP/1.1\r\n\r\n" + subscribe("*"))
    #expect(browser.waitsForEnd())
    #expect(hub.hub.devices.allSatisfy { $0.wakes == 1 })
    await hub.end()
  }
}
