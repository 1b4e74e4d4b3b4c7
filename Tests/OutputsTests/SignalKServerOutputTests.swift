import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Outputs

/// The output to a Signal K server on real sockets. Signal K's own server is not available here, so the server of the
/// tests follows RFC 6455 and Signal K's sources.
@Suite(.timeLimit(.minutes(10))) struct SignalKServerOutputTests {
  /// The clock of the connections. While it stands still, no server is late, and the hub makes no further attempt.
  private let clock = ManualClock()

  @Test func `the output wakes no device, and is connected while others keep the devices awake`() async throws {
    let (server, visits) = SignalKStandIn.server()
    let boat = try SignalKBoat("server: \"ws://127.0.0.1:\(server.port)\"", clock: clock)
    #expect(boat.hub.hasWokenNothing && visits.values.isEmpty)
    let client = boat.watch()
    #expect(visits.waits { $0.count == 1 })
    let visit = try #require(visits.values.first)
    #expect(visit.head.hasPrefix("GET /signalk/v1/stream?subscribe=none HTTP/1.1\r\n"), "\(visit.head)")
    #expect(!visit.head.contains("Authorization"))
    let position = #"{"path":"navigation.position","value":{"longitude":13."#
    #expect(visit.receives(position), "\(visit.frames)")
    #expect(visit.receives(#"{"path":"navigation.attitude","value":{"roll":"#), "\(visit.frames)")
    let frames = visit.frames.map(\.content)
    // Each message is one delta for the server's own vessel, and a path is described before its first value.
    #expect(frames.allSatisfy { $0.hasPrefix(#"{"context":"vessels.self","updates":[{"#) && $0.hasSuffix("}]}\r\n") })
    let described = frames.firstIndex { $0.contains(#""meta":["#) && $0.contains(#"{"path":"navigation.position""#) }
    let sent = frames.firstIndex { $0.contains(position) }
    #expect(try #require(described) < #require(sent))
    #expect(frames.contains { $0.contains(#""$source":"sensorhub.imu","timestamp":"20"#) }, "\(frames)")
    #expect(boat.logs(": values go to ws://127.0.0.1:\(server.port)"))
    client.cancel()
    #expect(visit.client.waitsForEnd() && boat.hub.comesToRest())
    // Its last frame says that it leaves.
    #expect(visit.frames.last?.head == 0x88)
    let again = boat.watch()
    #expect(visits.waits { $0.count == 2 })
    #expect(boat.log.values.count { $0.contains(": values go to") } == 1, "\(boat.log.values)")
    #expect(boat.logs("SIMULATED values go to ws://127.0.0.1:\(server.port)"))
    again.cancel()
    await boat.end()
  }

  @Test func `without permission, no simulated value is sent`() async throws {
    let (server, visits) = SignalKStandIn.server()
    let boat = try SignalKBoat(
      "server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true", simulated: false, clock: clock)
    #expect(
      boat.logs("nothing is sent to ws://127.0.0.1:\(server.port), because devices of the board are simulated"))
    #expect(boat.hub.hasWokenNothing && visits.values.isEmpty)
    await boat.end()
  }

  @Test func `with keepsAwake the output keeps the devices of its parts awake`() async throws {
    let (server, visits) = SignalKStandIn.server()
    let boat = try SignalKBoat(
      "server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true, parts: [\"attitude\"]", clock: clock)
    #expect(visits.waits { $0.count == 1 })
    #expect(visits.values[0].receives(#"{"path":"navigation.attitude","#))
    #expect(try boat.hub.device("imu").holders == ["signalk ws://127.0.0.1:\(server.port) (attitude)"])
    #expect(try boat.hub.device("gps").wakes == 0)
    await boat.end()
    #expect(visits.values[0].client.waitsForEnd())
  }

  @Test func `a ping is answered, and the server's messages are ignored`() async throws {
    let (server, visits) = SignalKStandIn.server { visit in
      visit.sends([0x89, 3, 0x61, 0x62, 0x63])
      visit.sends([0x81, 126, 0x10, 0] + [UInt8](repeating: 0x20, count: 4096))
      visit.sends([0x89, 1, 0x7A])
    }
    let boat = try SignalKBoat("server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true", clock: clock)
    #expect(visits.waits { $0.count == 1 })
    #expect(visits.values[0].receives("abc", head: 0x8A) && visits.values[0].receives("z", head: 0x8A))
    #expect(visits.values[0].receives("navigation.position"))
    await boat.end()
  }

  @Test func `deltas over TCP are lines`() async throws {
    let server = ScriptedServer { $0.send(#"{"name":"signalk-server"}"# + "\r\n") }
    let boat = try SignalKBoat("server: \"tcp://127.0.0.1:\(server.port)\", keepsAwake: true", clock: clock)
    #expect(server.clients.waits { $0.count == 1 })
    let client = server.clients.values[0]
    #expect(client.receives(#"{"path":"navigation.position","value":{"longitude":13."#), "\(client.text)")
    let lines = client.text.split(separator: "\r\n").dropLast()
    #expect(lines.allSatisfy { $0.hasPrefix(#"{"context":"vessels.self","updates":["#) }, "\(lines)")
    await boat.end()
    #expect(client.waitsForEnd())
  }

  @Test func `the hub connects again after its server has ended`() async throws {
    let (server, visits) = SignalKStandIn.server { visit in
      visit.sends([0x88, 2, 0x03, 0xE9])
    }
    let boat = try SignalKBoat("server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true", clock: clock)
    #expect(boat.logs("the server ended the connection (1001); the hub tries again"))
    #expect(visits.waits { $0.count == 1 })
    clock.advance(by: .seconds(1))
    #expect(visits.waits { $0.count == 2 })
    await boat.end()
  }

  @Test(arguments: [
    ("HTTP/1.1 401 Unauthorized\r\n\r\n", "the server demands a token: set 'signalk.tokenFile'"),
    (
      "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
      "the server there is no Signal K server with a WebSocket: it answered 'HTTP/1.1 200 OK'"
    ),
    ("HTTP/1.1 301 Moved\r\nLocation: https://b\r\n\r\n", "the server has moved to https://b: change 'signalk.server'"),
  ])
  func `a refusal is reported, and not repeated soon`(_ answer: String, _ message: String) async throws {
    let server = ScriptedServer { client in
      hold { client.has("\r\n\r\n") || !client.isOpen }
      client.send(answer)
    }
    let boat = try SignalKBoat("server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true", clock: clock)
    #expect(boat.logs(message), "\(boat.log.values)")
    // Prompt attempts would be made long before the receiver has a fix.
    #expect(boat.hub.shows("gps", .tracking))
    #expect(server.clients.values.count == 1)
    await boat.end()
  }

  @Test func `the hub disconnects from a server that sends without end`() async throws {
    let (server, visits) = SignalKStandIn.server { visit in
      // Pings cost the most: each has an answer.
      let pings = (0..<100).flatMap { _ in [0x89, 125] + [UInt8](repeating: 0x61, count: 125) }
      for _ in 0..<20 { visit.sends(pings) }
    }
    let boat = try SignalKBoat("server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true", clock: clock)
    #expect(boat.logs("the server sends much more than a Signal K server"), "\(boat.log.values)")
    #expect(visits.waits { $0.count == 1 } && visits.values[0].client.waitsForEnd())
    await boat.end()
  }

  @Test func `a token outside the folders for secrets is not sent`() async throws {
    let (server, visits) = SignalKStandIn.server()
    let boat = try SignalKBoat(
      "server: \"ws://127.0.0.1:\(server.port)\", tokenFile: \"/etc/hostname\", keepsAwake: true", clock: clock)
    #expect(boat.logs("'signalk.tokenFile' cannot be read from /etc/hostname: a board file may name"))
    #expect(visits.values.isEmpty)
    await boat.end()
  }

  @Test func `a connection with TLS checks the certificate`() async throws {
    let authority = TestAuthority()
    let (server, visits) = SignalKStandIn.server()
    let front = TLSFront(authority.certificate("boat", for: "IP:127.0.0.1"), to: server.port)
    let other = try SignalKBoat("server: \"wss://127.0.0.1:\(front.port)\", keepsAwake: true", clock: clock)
    #expect(other.logs("set 'signalk.caFile' to the file of its authority"), "\(other.log.values)")
    #expect(visits.values.isEmpty)
    await other.end()
    let boat = try SignalKBoat(
      "server: \"wss://127.0.0.1:\(front.port)\", caFile: \"\(authority.file)\", keepsAwake: true", clock: clock)
    #expect(visits.waits { $0.count == 1 })
    #expect(visits.values[0].receives("navigation.position"), "\(boat.log.values)")
    await boat.end()
  }

  @Test func `a token is sent with the request`() throws {
    let (server, visits) = SignalKStandIn.server()
    var settings = try #require(
      try Board(json5: Array("{ name: 'x', signalk: { server: 'ws://127.0.0.1' } }".utf8), file: "x").signalKServers
        .first)
    settings.address.port = server.port
    let stop = StopSignal()
    let connection = try SignalKConnection.open(
      to: settings, token: "a.b.c", version: "1", Poller(stop: stop.fileDescriptor, clock: clock), .init(), clock)
    #expect(visits.waits { $0.count == 1 })
    #expect(visits.values[0].head.contains("\r\nAuthorization: Bearer a.b.c\r\n"))
    connection.leave()
  }
}
