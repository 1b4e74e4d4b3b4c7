import FoundationEssentials
import Guarding
import Hub
import MonotonicTime
import Publishing
import TestSupport

@testable import Outputs

/// A client of a WebSocket server, after the handshake.
struct SignalKVisit: Sendable {
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

/// Signal K servers of the tests. Signal K's own server is not available here, so they follow RFC 6455, Signal K's
/// specification and the server's sources.
enum SignalKStandIn {
  /// A server without users, which accepts WebSockets.
  static func server(
    answering answer: @escaping @Sendable (SignalKVisit) -> Void = { _ in }
  ) -> (ScriptedServer, Recorder<SignalKVisit>) {
    let visits = Recorder<SignalKVisit>()
    let server = ScriptedServer { client in
      hold { client.has("\r\n\r\n") || !client.isOpen }
      if client.text.hasPrefix("POST ") { return reply(404, "", to: client) }
      let visit = accept(client)
      answer(visit)
      visits.append(visit)
    }
    return (server, visits)
  }

  /// Sends an HTTP answer.
  static func reply(_ status: Int, _ body: String, to client: SocketClient) {
    client.send("HTTP/1.1 \(status) Status\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }

  /// Answers a client's handshake, and greets it.
  static func accept(_ client: SocketClient) -> SignalKVisit {
    let hello = Array(#"{"name":"signalk-server","version":"2.0.0","self":"vessels.urn:x"}"#.utf8)
    let visit = SignalKVisit(client: client)
    let key = visit.head.split(separator: "\r\n").first { $0.hasPrefix("Sec-WebSocket-Key: ") }?.dropFirst(19) ?? ""
    let accept = Data(SHA1.digest(Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))).base64EncodedString()
    client.send(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: \(accept)\r\n\r\n")
    client.send([0x81, UInt8(hello.count)] + hello)
    return visit
  }
}

/// A hub with simulated devices, and its output to a server.
final class SignalKBoat: Sendable {
  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  let hub: ServedHub
  let log = Recorder<String>()
  private let lifetime = Lifetime()
  private let service: Task<Void, any Error>

  /// - Parameters:
  ///   - settings: the keys of the board file's section
  ///   - tokens: the file for tokens; `nil` for none
  ///   - clock: the clock of the connections. By default the limits and pauses are longer while the machine is busy
  init(
    _ settings: String, simulated: Bool = true, tokens: String? = nil, clock: any MonotonicTimeSource = SteppedClock()
  ) throws {
    hub = try ServedHub("signalk: { simulated: \(simulated), \(settings) }")
    let sink = JournalSink(to: Nowhere())
    sink.observe { [log] in log.append($0.message) }.store(in: lifetime)
    let output = SignalKServerOutput(
      host: hub.host, sink: sink, tokens: SignalKTokens(path: tokens) {}, clock: clock)
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
