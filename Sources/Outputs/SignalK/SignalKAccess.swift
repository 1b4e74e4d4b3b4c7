import FoundationEssentials
import Hub

/// A hub's way to a token of a Signal K server: the hub requests access, an administrator of the server approves or
/// denies the request, and until then the hub asks for the outcome (Signal K specification 1.7, access requests). For
/// use on one thread.
struct SignalKAccess {
  private struct Reply: Decodable {
    struct Outcome: Decodable {
      var permission: String?
      var token: String?
    }

    var state: String?
    var href: String?
    var message: String?
    var accessRequest: Outcome?
  }

  private static let path = "/signalk/v1/access/requests"
  private static let (longestPath, longestToken) = (256, 4096)

  private let server: SignalKServer
  private let version: String
  /// The name of the hub in the server's list of requests.
  private let name: String
  private let tokens: SignalKTokens
  private let sink: JournalSink
  /// Whether the server knows no access requests. It probably has no users, and takes values without a token.
  private var isOpen = false
  /// Whether an administrator has denied the request. The hub does not repeat it before its next start.
  private var isDenied = false

  init(to server: SignalKServer, version: String, name: String, tokens: SignalKTokens, sink: JournalSink) {
    self.server = server
    self.version = version
    self.name = name
    self.tokens = tokens
    self.sink = sink
  }

  /// The token for a connection; `nil` if the server needs none.
  ///
  /// - Parameter ask: sends an HTTP request to the server, and returns the answer
  mutating func token(
    _ ask: (_ request: [UInt8]) throws(SignalKServerError) -> SignalKAnswer
  ) throws(SignalKServerError) -> String? {
    if isDenied { throw .denied(name) }
    let known = tokens.entry(of: server.id)
    if let token = known.token { return token }
    if isOpen { return nil }
    if let href = known.href {
      let answer = try ask(request("GET", href))
      switch answer.status {
      // signalk-server forgets a request after an hour, and when it restarts. It answers with 500 then.
      case 404, 410, 500: tokens.keep(.init(), of: server.id)
      default: return try take(answer)
      }
    }
    return try take(try ask(request("POST", SignalKAccess.path, body: order)))
  }

  /// Records that a connection has failed or ended, after which the server may have other settings.
  ///
  /// - Returns: the error to report
  mutating func failed(_ error: SignalKServerError) -> SignalKServerError {
    isOpen = false
    guard error == .handshake(.unauthorised), tokens.entry(of: server.id).token != nil else { return error }
    tokens.keep(.init(), of: server.id)
    return .withdrawn
  }

  private mutating func take(_ answer: SignalKAnswer) throws(SignalKServerError) -> String? {
    let reply = try? JSONDecoder().decode(Reply.self, from: Data(answer.body))
    switch (answer.status ?? 0, reply) {
    case (200, let reply?), (202, let reply?): return try take(reply)
    case (400, let reply?): throw .accessRefused(SignalKAccess.shown(reply.message))
    case (301, _), (302, _), (303, _), (307, _), (308, _): throw .handshake(.moved(to: answer.head.location))
    case (401, _): throw .handshake(.unauthorised)
    // signalk-server answers so if its administrator has not allowed access requests.
    case (403, _): throw .accessRefused("")
    case (404, _), (405, _), (501, _):
      isOpen = true
      return nil
    case (429, _), (500..., _): throw .accessRefused(answer.head.firstLine)
    default: throw .handshake(.noWebSocket(answer.head.firstLine))
    }
  }

  private mutating func take(_ reply: Reply) throws(SignalKServerError) -> String {
    switch (reply.state, reply.accessRequest?.permission) {
    case ("PENDING", _):
      if let href = reply.href {
        guard SignalKAccess.isSafe(href, longest: SignalKAccess.longestPath), href.hasPrefix("/") else { throw .broken }
        tokens.keep(.init(href: href), of: server.id)
      }
      throw .pending(name)
    case ("COMPLETED", "APPROVED"):
      guard let token = reply.accessRequest?.token, SignalKAccess.isSafe(token, longest: SignalKAccess.longestToken)
      else { throw .broken }
      tokens.keep(.init(token: token), of: server.id)
      sink.write(.notice, "Signal K: \(server) has approved the access request of '\(name)'")
      return token
    case ("COMPLETED", "DENIED"):
      tokens.keep(.init(), of: server.id)
      isDenied = true
      throw .denied(name)
    default:
      tokens.keep(.init(), of: server.id)
      throw .accessRefused(SignalKAccess.shown(reply.message))
    }
  }

  /// Whether a text of the server can be part of a request's head.
  private static func isSafe(_ text: String, longest: Int) -> Bool {
    !text.isEmpty && text.utf8.count <= longest && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
  }

  /// The server's text for a message, cut and made printable, because the server is not trusted.
  private static func shown(_ text: String?) -> String { Text.printable(String((text ?? "").prefix(120))) }

  /// The body of an access request. The key `permissions` is not in the specification; signalk-server shows it to its
  /// administrator.
  private var order: [UInt8] {
    var json = JSONWriter(capacity: 256)
    json.beginObject()
    json.member("clientId", SignalKVessel.uuid)
    json.member("description", name)
    json.member("permissions", literal: "readwrite")
    json.endObject()
    return Array(json.bytes)
  }

  private func request(_ method: String, _ path: String, body: [UInt8] = []) -> [UInt8] {
    var lines = ["\(method) \(path) HTTP/1.1", "Host: \(server.address.authority)", "User-Agent: sensorhub/\(version)"]
    if !body.isEmpty { lines += ["Content-Type: application/json", "Content-Length: \(body.count)"] }
    lines += ["Connection: close", "", ""]
    return Array(lines.joined(separator: "\r\n").utf8) + body
  }
}
