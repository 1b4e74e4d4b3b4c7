import FoundationEssentials
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
  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  private static let hello = Array(#"{"name":"signalk-server","version":"2.0.0","self":"vessels.urn:x"}"#.utf8)

  /// A client of the WebSocket server, after the handshake.
  private struct Visit: Sendable {
    let client: SocketClient

    var head: String { client.text.firstRange(of: "\r\n\r\n").map { String(client.text[..<$0.upperBound]) } ?? "" }

    /// The received frames: their first bytes and their content.
    var frames: [(head: UInt8, content: String)] {
      var rest = client.bytes.dropFirst(head.utf8.count)
      var frames: [(UInt8, String)] = []
      while rest.count >= 6 {
        let bytes = Array(rest.prefix(8))
        let isLong = bytes[1] == 0x80 | 126
        let headCount = isLong ? 8 : 6
        let count = isLong ? Int(bytes[2]) << 8 | Int(bytes[3]) : Int(bytes[1] & 0x7F)
        guard rest.count >= headCount + count else { break }
        let mask = Array(rest.dropFirst(headCount - 4).prefix(4))
        let content = rest.dropFirst(headCount).prefix(count).enumerated().map { $1 ^ mask[$0 & 3] }
        frames.append((bytes[0], String(decoding: content, as: UTF8.self)))
        rest = rest.dropFirst(headCount + count)
      }
      return frames
    }

    /// Blocks until the client has sent a frame with this first byte and text in it.
    func receives(_ text: String, head: UInt8 = 0x81) -> Bool {
      client.receives { _ in frames.contains { $0.head == head && $0.content.contains(text) } }
    }

    func sends(_ frame: [UInt8]) { client.send(frame) }
  }

  /// A hub with simulated devices, and its output to a server.
  private final class Boat: Sendable {
    let hub: ServedHub
    let log = Recorder<String>()
    private let lifetime = Lifetime()
    private let service: Task<Void, any Error>

    init(_ settings: String, simulated: Bool = true) throws {
      hub = try ServedHub("signalk: { simulated: \(simulated), \(settings) }")
      let sink = JournalSink(to: Nowhere())
      sink.observe { [log] in log.append($0.message) }.store(in: lifetime)
      let output = SignalKServerOutput(host: hub.host, sink: sink)
      service = Task { try await output.run() }
    }

    func logs(_ text: String) -> Bool { log.waits { $0.contains { $0.contains(text) } } }

    func watch() -> Subscription { hub.hub.state.subscribe(as: "watch", receiveValue: { _ in }) }

    func end() async {
      service.cancel()
      _ = await service.result
      await hub.end()
      lifetime.end()
    }
  }

  /// A server that accepts WebSockets.
  private static func server(
    answering answer: @escaping @Sendable (Visit) -> Void = { _ in }
  ) -> (ScriptedServer, Recorder<Visit>) {
    let visits = Recorder<Visit>()
    let server = ScriptedServer { client in
      hold { client.has("\r\n\r\n") || !client.isOpen }
      let visit = Visit(client: client)
      let key = visit.head.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }?.dropFirst(19) ?? ""
      let accept = Data(SHA1.digest(Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))).base64EncodedString()
      client.send(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          + "Sec-WebSocket-Accept: \(accept)\r\n\r\n")
      client.send([0x81, UInt8(hello.count)] + hello)
      answer(visit)
      visits.append(visit)
    }
    return (server, visits)
  }

  @Test func `the output wakes no device, and is connected while others keep the devices awake`() async throws {
    let (server, visits) = Self.server()
    let boat = try Boat("server: \"ws://127.0.0.1:\(server.port)\"")
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
    let (server, visits) = Self.server()
    let boat = try Boat("server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true", simulated: false)
    #expect(
      boat.logs("nothing is sent to ws://127.0.0.1:\(server.port), because devices of the board are simulated"))
    #expect(boat.hub.hasWokenNothing && visits.values.isEmpty)
    await boat.end()
  }

  @Test func `with keepsAwake the output keeps the devices of its parts awake`() async throws {
    let (server, visits) = Self.server()
    let boat = try Boat("server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true, parts: [\"attitude\"]")
    #expect(visits.waits { $0.count == 1 })
    #expect(visits.values[0].receives(#"{"path":"navigation.attitude","#))
    #expect(try boat.hub.device("imu").holders == ["signalk ws://127.0.0.1:\(server.port) (attitude)"])
    #expect(try boat.hub.device("gps").wakes == 0)
    await boat.end()
    #expect(visits.values[0].client.waitsForEnd())
  }

  @Test func `a ping is answered, and the server's messages are ignored`() async throws {
    let (server, visits) = Self.server { visit in
      visit.sends([0x89, 3, 0x61, 0x62, 0x63])
      visit.sends([0x81, 126, 0x10, 0] + [UInt8](repeating: 0x20, count: 4096))
      visit.sends([0x89, 1, 0x7A])
    }
    let boat = try Boat("server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true")
    #expect(visits.waits { $0.count == 1 })
    #expect(visits.values[0].receives("abc", head: 0x8A) && visits.values[0].receives("z", head: 0x8A))
    #expect(visits.values[0].receives("navigation.position"))
    await boat.end()
  }

  @Test func `deltas over TCP are lines`() async throws {
    let server = ScriptedServer { $0.send(#"{"name":"signalk-server"}"# + "\r\n") }
    let boat = try Boat("server: \"tcp://127.0.0.1:\(server.port)\", keepsAwake: true")
    #expect(server.clients.waits { $0.count == 1 })
    let client = server.clients.values[0]
    #expect(client.receives(#"{"path":"navigation.position","value":{"longitude":13."#), "\(client.text)")
    let lines = client.text.split(separator: "\r\n").dropLast()
    #expect(lines.allSatisfy { $0.hasPrefix(#"{"context":"vessels.self","updates":["#) }, "\(lines)")
    await boat.end()
    #expect(client.waitsForEnd())
  }

  @Test func `the hub connects again after its server has ended`() async throws {
    let (server, visits) = Self.server { visit in
      visit.sends([0x88, 2, 0x03, 0xE9])
    }
    let boat = try Boat("server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true")
    #expect(boat.logs("the server ended the connection (1001); the hub tries again"))
    #expect(visits.waits { $0.count >= 2 })
    await boat.end()
  }

  @Test(arguments: [
    ("HTTP/1.1 401 Unauthorized\r\n\r\n", "the server demands a token: set 'signalk.tokenFile'"),
    (
      "HTTP/1.1 200 OK\r\n\r\n",
      "the server there is no Signal K server with a WebSocket: it answered 'HTTP/1.1 200 OK'"
    ),
    ("HTTP/1.1 301 Moved\r\nLocation: https://b\r\n\r\n", "the server has moved to https://b: change 'signalk.server'"),
  ])
  func `a refusal is reported, and not repeated soon`(_ answer: String, _ message: String) async throws {
    let server = ScriptedServer { client in
      hold { client.has("\r\n\r\n") || !client.isOpen }
      client.send(answer)
    }
    let boat = try Boat("server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true")
    #expect(boat.logs(message), "\(boat.log.values)")
    #expect(server.clients.values.count == 1)
    await boat.end()
  }

  @Test func `the hub disconnects from a server that sends without end`() async throws {
    let (server, visits) = Self.server { visit in
      // Pings cost the most: each has an answer.
      let pings = (0..<100).flatMap { _ in [0x89, 125] + [UInt8](repeating: 0x61, count: 125) }
      for _ in 0..<20 { visit.sends(pings) }
    }
    let boat = try Boat("server: \"ws://127.0.0.1:\(server.port)\", keepsAwake: true")
    #expect(boat.logs("the server sends much more than a Signal K server"), "\(boat.log.values)")
    #expect(visits.waits { $0.count == 1 } && visits.values[0].client.waitsForEnd())
    await boat.end()
  }

  @Test func `a token outside the folders for secrets is not sent`() async throws {
    let (server, visits) = Self.server()
    let boat = try Boat("server: \"ws://127.0.0.1:\(server.port)\", tokenFile: \"/etc/hostname\", keepsAwake: true")
    #expect(boat.logs("'signalk.tokenFile' cannot be read from /etc/hostname: a board file may name"))
    #expect(visits.values.isEmpty)
    await boat.end()
  }

  @Test func `a connection with TLS checks the certificate`() async throws {
    let authority = TestAuthority()
    let (server, visits) = Self.server()
    let front = TLSFront(authority.certificate("boat", for: "IP:127.0.0.1"), to: server.port)
    let other = try Boat("server: \"wss://127.0.0.1:\(front.port)\", keepsAwake: true")
    #expect(other.logs("set 'signalk.caFile' to the file of its authority"), "\(other.log.values)")
    #expect(visits.values.isEmpty)
    await other.end()
    let boat = try Boat(
      "server: \"wss://127.0.0.1:\(front.port)\", caFile: \"\(authority.file)\", keepsAwake: true")
    #expect(visits.waits { $0.count == 1 })
    #expect(visits.values[0].receives("navigation.position"), "\(boat.log.values)")
    await boat.end()
  }

  @Test func `a token is sent with the request`() throws {
    let (server, visits) = Self.server()
    var settings = try #require(
      try Board(json5: Array("{ name: 'x', signalk: { server: 'ws://127.0.0.1' } }".utf8), file: "x").signalKServers
        .first)
    settings.address.port = server.port
    let stop = StopSignal()
    let connection = try SignalKConnection.open(
      to: settings, token: "a.b.c", version: "1", Poller(stop: stop.fileDescriptor), .init(), MonotonicClock())
    #expect(visits.waits { $0.count == 1 })
    #expect(visits.values[0].head.contains("\r\nAuthorization: Bearer a.b.c\r\n"))
    connection.leave()
  }
}
