import Guarding
import Hub
import MonotonicTime
import TestSupport
import Testing

@testable import Outputs

/// Subscriptions to parts of the state, on every port.
@Suite(.timeLimit(.minutes(10))) struct PartsTests {
  private let http = SocketClient.freePort()
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()
  /// The clock of the wait for a client's request. While it stands still, no request is late, however busy the machine.
  private let clock = ManualClock()

  private func hub() throws -> ServedHub {
    try ServedHub(
      """
      http: { port: \(http) }, gpsd: { port: \(gpsd), parts: ["position"] },
      nmea: { port: \(nmea), source: "fused", rateHz: 10, sentences: ["XDR"], parts: ["attitude"] }
      """, clientClock: clock)
  }

  /// A client of the web port that requests events.
  private func events(_ query: String) -> WireClient {
    let client = WireClient(port: http)
    client.send("GET /events?\(query) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client
  }

  @Test func `a request for attitudes wakes only the IMU, for events, sentences and states`() async throws {
    let hub = try hub()
    let events = events("parts=attitude,rates&rate=20")
    #expect(events.reads { events.text.split(separator: "\"attitude\":{").count > 10 }, "\(events.text.prefix(400))")
    let plotter = WireClient(port: nmea)
    #expect(plotter.reads { plotter.text.split(separator: "XDR,").count > 5 }, "\(plotter.text)")
    let gps = try hub.device("gps")
    #expect(gps.wakes == 0 && gps.power == .off)
    let imu = try hub.device("imu")
    #expect(imu.wakes == 1)
    #expect(imu.holders.contains { $0.hasPrefix("web ") && $0.hasSuffix("(attitude, rates)") })
    #expect(!events.text.contains("\"position\":"))
    events.leave()
    plotter.leave()
    #expect(hub.comesToRest())
    let states = WireClient(path: hub.path.state, isNamed: true)
    states.send("{\"parts\": [\"attitude\"]}\n")
    #expect(states.reads { states.lines.count > 10 })
    #expect(try hub.device("imu").holders.contains { $0.hasSuffix("(attitude)") })
    #expect(try hub.device("gps").wakes == 0)
    await hub.end()
  }

  @Test func `a request for positions wakes only the receiver, and includes the attitude while the IMU is awake`()
    async throws
  {
    let hub = try hub()
    let client = WireClient(port: gpsd)
    client.watch()
    #expect(client.receives("\"mode\":3"), "\(client.text)")
    #expect(try hub.device("imu").wakes == 0)
    #expect(!client.text.contains("\"class\":\"ATT\""))
    let plotter = WireClient(port: nmea)
    #expect(client.receives("\"class\":\"ATT\""), "\(client.text)")
    #expect(hub.hub.devices.allSatisfy { $0.wakes == 1 })
    client.leave()
    plotter.leave()
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `a client whose socket has a name may take longer than others to send its request`() async throws {
    let (hub, other) = (try ServedHub("", clientClock: clock), try ServedHub("", clientClock: clock))
    let client = WireClient(path: hub.path.state, isNamed: true)
    // A client of another hub gets everything, because it sends no request.
    let mute = WireClient(path: other.path.state)
    await clock.sleepers(2)
    clock.advance(by: StreamClient.hearing - .milliseconds(1))
    #expect(other.shows("gps", .settling, .acquiring, .tracking))
    #expect(hub.hasWokenNothing)
    client.send("{\"parts\": [\"attitude\"]}\n")
    #expect(client.receives("\"attitude\":{"))
    #expect(hub.hub.devices.map(\.wakes) == [0, 1])
    // The hub does not wait for ever.
    let silent = WireClient(path: hub.path.state, isNamed: true)
    await clock.sleepers(1)
    clock.advance(by: StreamClient.hearing)
    #expect(hub.shows("gps", .settling, .acquiring, .tracking))
    for client in [client, mute, silent] { client.leave() }
    await other.end()
    await hub.end()
  }

  @Test func `a request for fixes wakes no other device, however late it comes`() async throws {
    let hub = try ServedHub("", clientClock: clock)
    let client = WireClient(path: hub.path.state, isNamed: true)
    await clock.sleepers(1)
    clock.advance(by: StreamClient.hearing - .milliseconds(1))
    client.send("{\"every\": 604800, \"accuracy\": 100, \"within\": 60}\n")
    #expect(client.receives("\"schedule\":{\"met\":true"), "\(client.text)")
    #expect(hub.hub.devices.map(\.wakes) == [1, 0])
    client.leave()
    await hub.end()
  }

  @Test func `an unknown part is refused, with a list of the existing ones`() async throws {
    let hub = try hub()
    for parts in ["attitude,longitude", "", "attitude,"] {
      let events = events("parts=\(parts)")
      #expect(events.receives("400 Bad Request") && events.receives("position, altitude, motion, time"), "\(parts)")
    }
    #expect(hub.hasWokenNothing)
    let client = WireClient(path: hub.path.state, isNamed: true)
    client.send("{\"parts\": [\"longitude\"]}\n")
    #expect(client.receives("\"class\":\"ERROR\"") && client.receives("satellites, attitude"), "\(client.text)")
    // Another client's request is served after that.
    let other = WireClient(path: hub.path.state, isNamed: true)
    other.send("{\"parts\": [\"attitude\"]}\n")
    #expect(other.receives("\"attitude\":{"))
    #expect(try hub.device("gps").wakes == 0)
    await hub.end()
  }

  @Test func `a request changes only the values that it names`() async throws {
    let hub = try hub()
    let client = WireClient(path: hub.path.state, isNamed: true)
    client.send("{\"parts\": [\"attitude\"], \"name\": \"level\"}\n")
    #expect(client.receives("\"attitude\":{"))
    client.send("{\"rateHz\": 2}\n")
    // After the change two states are half a second apart.
    func isSlow() -> Bool {
      let times = client.lines.suffix(2).compactMap { LateClient.number(String($0), behind: "\"monotonic\":", 16) }
      return times.count == 2 && times[1] - times[0] > 0.4
    }
    #expect(client.reads(until: isSlow), "\(client.text)")
    let holders = try hub.device("imu").holders
    #expect(holders.count == 1 && holders[0].hasPrefix("level[") && holders[0].hasSuffix("(attitude)"), "\(holders)")
    #expect(try hub.device("gps").wakes == 0)
    await hub.end()
  }

  @Test func `a gpsd client is disconnected when a reload changes the parts it gets`() async throws {
    let hub = try hub()
    let client = WireClient(port: gpsd)
    client.watch()
    #expect(hub.shows("gps", .settling, .acquiring, .tracking))
    #expect(try hub.device("gps").holders.contains { $0.hasSuffix("(position)") })
    try await hub.reload(HubProcess.simulatedBoard("gpsd: { port: \(gpsd) }"))
    #expect(client.waitsForEnd())
    let next = WireClient(port: gpsd)
    next.watch()
    #expect(hub.shows("imu", .tracking) && hub.shows("gps", .tracking))
    next.leave()
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `gpsd clients see only the fused devices, and cannot watch another one`() async throws {
    let terminal = PseudoTerminal()
    let hub = try ServedHub(
      board: """
        { name: "two", gpsd: { port: \(gpsd) }, devices: {
            gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated", line: "gps-power" } },
            boat: { driver: "nmea", port: "\(terminal.path)" } }, fusion: { devices: ["gps"] } }
        """)
    let client = WireClient(port: gpsd)
    client.send("?DEVICES;\n")
    client.watch(#""json":true,"device":"\#(terminal.path)""#)
    #expect(client.receives("\"class\":\"ERROR\""), "\(client.text)")
    #expect(client.text.contains("\"path\":\"simulated/gps\""))
    #expect(!client.text.contains("\"path\":\"\(terminal.path)\""))
    #expect(hub.hasWokenNothing)
    await hub.end()
  }
}
