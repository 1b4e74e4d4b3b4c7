import CLinux
import FoundationEssentials
import Glibc
import Guarding
import HardwareIO
import Hub
import TestSupport
import Testing

@testable import Outputs

/// Access requests to a Signal K server on real sockets, and the decisions of `SignalKAccess`.
@Suite(.timeLimit(.minutes(10))) struct SignalKAccessTests {
  /// A server that takes values only with its token.
  private final class SecuredServer: Sendable {
    private struct State {
      var outcome = #"{"state":"PENDING"}"#
      var token = "a.b.c"
    }

    /// The state, as a reference that the server's threads can share.
    private final class Shared: Sendable {
      let state = Guarded(State())
    }

    /// Each request, with its body.
    let requests = Recorder<String>()
    let visits = Recorder<SignalKVisit>()
    private let shared = Shared()
    private let server: ScriptedServer

    var address: String { "ws://127.0.0.1:\(server.port)" }

    init() {
      server = ScriptedServer { [requests, visits, shared] client in
        hold { client.has("\r\n\r\n") || !client.isOpen }
        if client.text.hasPrefix("POST ") { hold { client.has("}") || !client.isOpen } }
        let (text, present) = (client.text, shared.state.withLock { $0 })
        requests.append(text)
        if text.hasPrefix("POST /signalk/v1/access/requests HTTP/1.1\r\n") {
          let href = "/signalk/v1/requests/r1"
          SignalKStandIn.reply(202, #"{"state":"PENDING","statusCode":202,"href":"\#(href)"}"#, to: client)
        } else if text.hasPrefix("GET /signalk/v1/requests/r1 ") {
          SignalKStandIn.reply(200, present.outcome, to: client)
        } else if text.contains("\r\nAuthorization: Bearer \(present.token)\r\n") {
          visits.append(SignalKStandIn.accept(client))
        } else {
          SignalKStandIn.reply(401, "", to: client)
        }
      }
    }

    /// Decides on the request, as the server's administrator.
    func decide(_ outcome: String) {
      shared.state.withLock {
        $0.outcome = #"{"state":"COMPLETED","statusCode":200,"accessRequest":{\#(outcome)}}"#
      }
    }

    /// Gives the hub's device another token, so that the earlier one is worth nothing.
    func change(token: String) { shared.state.withLock { $0.token = token } }

    func count(_ start: String) -> Int { requests.values.count { $0.hasPrefix(start) } }
  }

  private let folder = TemporaryFolder("signalk")
  private var file: String { folder.path + "/signalk.json" }

  @Test func `the hub requests access, sends values once it is approved, and keeps the token for itself`() async throws
  {
    let server = SecuredServer()
    let settings = "server: \"\(server.address)\", keepsAwake: true"
    let boat = try SignalKBoat(settings, tokens: file)
    #expect(
      boat.logs(
        "no values go to \(server.address): approve 'SensorHub test' in the server's Security / Access Requests, with the "
          + "permission Read/Write; the hub tries again"), "\(boat.log.values)")
    let request = try #require(server.requests.values.first)
    #expect(request.contains("\r\nContent-Type: application/json\r\n"), "\(request)")
    let body = #"{"clientId":"\#(SignalKVessel.uuid)","description":"SensorHub test","permissions":"readwrite"}"#
    #expect(request.hasSuffix("\r\n\r\n" + body), "\(request)")
    // The server is asked until the request is decided.
    #expect(server.requests.waits { _ in server.count("GET /signalk/v1/requests/r1 ") >= 2 })
    #expect(server.visits.values.isEmpty && server.count("POST ") == 1)
    server.decide(#""permission":"APPROVED","token":"a.b.c""#)
    #expect(server.visits.waits { $0.count == 1 }, "\(boat.log.values)")
    #expect(server.visits.values[0].receives("navigation.position"), "\(server.visits.values[0].frames)")
    #expect(boat.logs("\(server.address) has approved the access request of 'SensorHub test'"))
    await boat.end()
    var status = stat()
    #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)

    // After a restart the hub has the token.
    let next = try SignalKBoat(settings, tokens: file)
    #expect(server.visits.waits { $0.count == 2 }, "\(next.log.values)")
    #expect(server.count("POST ") == 1)
    await next.end()
  }

  @Test func `a hub that is started again asks for the outcome of its earlier request`() async throws {
    let server = SecuredServer()
    let settings = "server: \"\(server.address)\", keepsAwake: true"
    let first = try SignalKBoat(settings, tokens: file)
    #expect(first.logs("approve 'SensorHub test'"))
    await first.end()
    server.decide(#""permission":"APPROVED","token":"a.b.c""#)
    let second = try SignalKBoat(settings, tokens: file)
    #expect(server.visits.waits { $0.count == 1 }, "\(second.log.values)")
    #expect(server.count("POST ") == 1)
    await second.end()
  }

  @Test func `a denied request is reported, and not repeated`() async throws {
    let server = SecuredServer()
    server.decide(#""permission":"DENIED""#)
    let boat = try SignalKBoat("server: \"\(server.address)\", keepsAwake: true", tokens: file)
    #expect(
      boat.logs(
        "the server's administrator denied the access request of 'SensorHub test': to repeat it, restart the hub, or set "
          + "'signalk.tokenFile'"), "\(boat.log.values)")
    #expect(boat.log.values.last?.contains("tries again") == false, "\(boat.log.values)")
    await boat.end()
    #expect(server.count("POST ") == 1 && server.visits.values.isEmpty)
  }

  @Test func `the tokens in the file of an earlier version stay valid`() throws {
    let earlier =
      #"{"ws:\/\/b:3000":{"token":"b"},"wss:\/\/[2001:db8::1]:443":{"href":"\/r"},"ws:\/\/c:80":{"token":"c"}}"#
    try Files.replace(file, with: Array(earlier.utf8), mode: 0o600)
    let tokens = SignalKTokens(path: file) {}
    let plain = SignalKServer.ID(transport: .webSocket, host: "b", port: 3000)
    let encrypted = SignalKServer.ID(transport: .encryptedWebSocket, host: "2001:db8::1", port: 443)
    #expect(tokens.entry(of: plain) == .init(token: "b") && tokens.entry(of: encrypted) == .init(href: "/r"))
    // Another transport may lead to another server.
    #expect(tokens.entry(of: .init(transport: .encryptedWebSocket, host: "b", port: 3000)) == .init())
    // An earlier version can read the new file too.
    tokens.keep(.init(token: "d"), of: encrypted)
    let written = try JSONDecoder().decode(
      [String: SignalKTokens.Entry].self, from: Data(Files.bytes(ofOwn: file, limit: 4096)))
    #expect(Set(written.keys) == ["ws://b:3000", "wss://[2001:db8::1]:443", "ws://c:80"])
    #expect(written["wss://[2001:db8::1]:443"] == .init(token: "d") && written["ws://c:80"] == .init(token: "c"))
  }

  // MARK: Decisions

  /// The access of a hub to a server, and the requests to it.
  private func access(
    _ entry: SignalKTokens.Entry = .init()
  ) throws -> (access: SignalKAccess, tokens: SignalKTokens, server: SignalKServer) {
    let board = try Board(json5: Array("{ name: 'x', signalk: { server: 'ws://b' } }".utf8), file: "x")
    let server = try #require(board.signalKServers.first)
    let tokens = SignalKTokens(path: nil) {}
    tokens.keep(entry, of: server.id)
    let access = SignalKAccess(
      to: server, version: "1", name: "hub", tokens: tokens, sink: JournalSink(to: Nowhere()))
    return (access, tokens, server)
  }

  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  private static func answer(_ status: Int, _ body: String = "") throws -> SignalKAnswer {
    var answer = SignalKAnswer()
    try answer.take(Array("HTTP/1.1 \(status) Status\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)".utf8))
    #expect(answer.isOver)
    return answer
  }

  /// Asks for the token once.
  ///
  /// - Returns: the token, the error, and the first lines of the requests, which get these answers in turn
  private func ask(
    _ access: inout SignalKAccess, _ answers: [SignalKAnswer]
  ) -> (token: String?, error: SignalKServerError?, requests: [String]) {
    var requests: [String] = []
    do throws(SignalKServerError) {
      let token = try access.token { (request) throws(SignalKServerError) in
        requests.append(String(decoding: request.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self))
        if requests.count > answers.count { throw .broken }
        return answers[requests.count - 1]
      }
      return (token, nil, requests)
    } catch {
      return (nil, error, requests)
    }
  }

  @Test func `after a denial nothing is asked any more`() throws {
    var (access, tokens, server) = try access(.init(href: "/r"))
    let denial = #"{"state":"COMPLETED","statusCode":200,"accessRequest":{"permission":"DENIED"}}"#
    let first = ask(&access, [try Self.answer(200, denial)])
    #expect(first.error == .denied("hub") && first.requests == ["GET /r HTTP/1.1"])
    #expect(tokens.entry(of: server.id) == .init())
    let second = ask(&access, [])
    #expect(second.error == .denied("hub") && second.requests.isEmpty)
  }

  @Test(arguments: [404, 405, 501])
  func `a server without access requests gets values without a token, until a connection ends`(_ status: Int) throws {
    var (access, _, _) = try access()
    let post = "POST /signalk/v1/access/requests HTTP/1.1"
    let first = ask(&access, [try Self.answer(status)])
    #expect(first.token == nil && first.error == nil && first.requests == [post])
    #expect(ask(&access, []).requests.isEmpty)
    #expect(access.failed(.left(1001)) == .left(1001))
    #expect(ask(&access, [try Self.answer(status)]).requests == [post])
  }

  @Test(arguments: [404, 500]) func `a request that the server has forgotten is repeated`(_ status: Int) throws {
    var (access, tokens, server) = try access(.init(href: "/r"))
    let answer = try Self.answer(202, #"{"state":"PENDING","href":"/s"}"#)
    let asked = ask(&access, [try Self.answer(status, "Unable to check request: not found"), answer])
    #expect(asked.requests == ["GET /r HTTP/1.1", "POST /signalk/v1/access/requests HTTP/1.1"])
    #expect(asked.error == .pending("hub") && tokens.entry(of: server.id) == .init(href: "/s"))
  }

  @Test func `a token that the server no longer accepts is replaced by a new request`() throws {
    var (access, tokens, server) = try access(.init(token: "old"))
    #expect(ask(&access, []).token == "old")
    #expect(access.failed(.connection(.closed)) == .connection(.closed) && tokens.entry(of: server.id).token == "old")
    #expect(access.failed(.handshake(.unauthorised)) == .withdrawn && tokens.entry(of: server.id) == .init())
  }

  @Test(arguments: [
    (403, "", SignalKServerError.accessRefused("")),
    (400, #"{"state":"COMPLETED","message":"already\u0007 requested"}"#, .accessRefused(#"already\u{7} requested"#)),
    (401, "", .handshake(.unauthorised)), (503, "", .accessRefused("HTTP/1.1 503 Status")),
    (200, "<html>", .handshake(.noWebSocket("HTTP/1.1 200 Status"))),
    (202, #"{"state":"PENDING","href":"/a b"}"#, .broken), (202, #"{"state":"PENDING","href":"http://c"}"#, .broken),
    (200, #"{"state":"COMPLETED","accessRequest":{"permission":"APPROVED","token":"a\r\nX: y"}}"#, .broken),
  ])
  func `other answers are errors, and put nothing into a later request`(
    _ status: Int, _ body: String, _ error: SignalKServerError
  ) throws {
    var (access, tokens, server) = try access()
    #expect(ask(&access, [try Self.answer(status, body)]).error == error)
    #expect(tokens.entry(of: server.id) == .init())
  }

  @Test func `a body in chunks is read`() throws {
    var answer = SignalKAnswer()
    for part in ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r", "\n\r\n3\r\n{\"a", "\r\n2\r\n\":\r\n0\r\n\r\n"] {
      #expect(!answer.isOver)
      try answer.take(Array(part.utf8))
    }
    #expect(answer.isOver && answer.body == Array("{\"a\":".utf8))
  }
}
