import Glibc
import Guarding
import HTTPTypes
import Hub
import Hummingbird
import MonotonicTime
import NIOCore

/// Refuses three kinds of requests:
/// - requests without the token of the port, except for `/healthz`
/// - requests from other sites' pages in a browser
/// - requests to foreign host names that resolve to this machine (DNS rebinding)
struct AccessMiddleware: RouterMiddleware {
  typealias Context = HTTPContext

  private static let host = HTTPField.Name("Host")!
  private static let site = HTTPField.Name("Sec-Fetch-Site")!

  private let token: AccessToken?
  private let wrongTokens: WrongTokens
  private let names: Set<String>

  init(port: Board.HTTPPort, token: AccessToken?, wrongTokens: WrongTokens) {
    self.token = token
    self.wrongTokens = wrongTokens
    var name = [CChar](repeating: 0, count: 256)
    let own =
      gethostname(&name, name.count - 1) == 0
      ? [name.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }] : []
    names = Set((["localhost"] + own + own.map { "\($0).local" } + port.hosts).map { $0.lowercased() })
  }

  func handle(
    _ request: Request, context: HTTPContext, next: (Request, HTTPContext) async throws -> Response
  ) async throws -> Response {
    guard let host = request.head.authority else {
      throw HTTPError(.badRequest, message: "the request has no Host header")
    }
    // The library takes the first Host field as the authority, and keeps any further ones. A proxy may have checked
    // another field than this code would, so such a request is refused.
    guard request.headers[AccessMiddleware.host] == nil else {
      throw HTTPError(.badRequest, message: "the request has more than one Host header")
    }
    guard let name = AccessMiddleware.name(in: host) else {
      throw HTTPError(.badRequest, message: "the Host header is not a name or address, with or without a port")
    }
    guard isOwn(name) else {
      throw HTTPError(
        .misdirectedRequest,
        message: "'\(host)' is not known here: add the name to http.hosts in the board file, or for a fleet with --host"
      )
    }
    if let origin = request.headers[.origin], origin != "http://\(host)", origin != "https://\(host)" {
      throw HTTPError(
        .forbidden,
        message: "pages of other sites may not use this hub; a proxy in front of the hub must forward the Host header")
    }
    // The request for an image or a link on another site's page has no Origin header, and would wake devices too. If
    // the connection is encrypted or local, browsers send Sec-Fetch-Site, which shows such a request. A link to the
    // dashboard itself is allowed.
    let site = request.headers[AccessMiddleware.site] ?? "none"
    guard ["none", "same-origin"].contains(site) || request.uri.path == "/" else {
      throw HTTPError(.forbidden, message: "pages of other sites may not use this hub")
    }
    if let token, !token.isBrought(by: request.headers), request.uri.path != "/healthz" {
      if request.headers[.authorization] != nil {
        try await wrongTokens.refuse("\(context.peer.name)\(context.peer.visit)", on: context.channel)
      }
      throw HTTPError(
        .unauthorized, headers: [.wwwAuthenticate: #"Basic realm="SensorHub", charset="UTF-8""#],
        message: "authentication required: send the token as a bearer token or as the password")
    }
    return try await next(request, context)
  }

  /// Takes the port off an authority, `host` or `host:port`; `nil` if it is neither.
  private static func name(in authority: String) -> Substring? {
    let afterIPv6 = authority.firstIndex(of: "]").map(authority.index(after:))
    guard let end = authority.hasPrefix("[") ? afterIPv6 : authority.firstIndex(of: ":") ?? authority.endIndex else {
      return nil
    }
    let port = authority[end...]
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    guard port.isEmpty || port.first == ":", port.utf8.dropFirst().allSatisfy(digits.contains) else { return nil }
    return authority[..<end]
  }

  /// Whether a name or address is this machine's. Every IP address is allowed, because DNS rebinding needs a name.
  private func isOwn(_ name: Substring) -> Bool {
    if name.hasPrefix("[") { return IPAddress(String(name.dropFirst().dropLast())) != nil }
    return IPAddress(String(name)) != nil || names.contains(name.lowercased())
  }
}

/// Delays the answers to requests with a wrong token, so that guessing takes long, and logs them at a limited rate.
///
/// The right token is never delayed, so guesses from the same address lock no client out. A request without a token
/// is not delayed either: it is no guess, and a browser must learn at once that it needs a token.
final class WrongTokens: Sendable {
  static let pause = TimeAmount.seconds(1)
  private static let window = Duration.seconds(60)

  private let name: String
  private let sink: JournalSink
  private let lines: RepeatedLines
  private let wait: @Sendable (any Channel) async throws -> Void

  /// - Parameters:
  ///   - name: the port's name in the log
  ///   - wait: waits for `pause` before it returns
  init(
    _ name: String, sink: JournalSink, clock: any MonotonicTimeSource = MonotonicClock(),
    wait: @escaping @Sendable (any Channel) async throws -> Void = { channel in
      try await channel.eventLoop.scheduleTask(in: WrongTokens.pause) {}.futureResult.get()
    }
  ) {
    self.sink = sink
    self.wait = wait
    self.name = name
    let seconds = Text.fixed(WrongTokens.window.inSeconds, 0)
    lines = RepeatedLines(limit: 1, within: WrongTokens.window, clock: clock) { count in
      sink.write(.warning, "\(name): \(count) more requests with a wrong token within \(seconds) s")
    }
  }

  /// Logs a request with a wrong token, and returns when it may be answered.
  func refuse(_ peer: String, on channel: any Channel) async throws {
    if lines.admit() { sink.write(.warning, "\(name): \(peer) has sent a wrong token") }
    try await wait(channel)
  }
}
