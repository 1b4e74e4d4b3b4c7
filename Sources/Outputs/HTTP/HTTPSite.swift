import CLinux
import Glibc
import Guarding
import HTTPTypes
import Hub
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// The routes of one port.
struct HTTPSite: Sendable {
  let offer: HTTPOutput.Offer
  fileprivate let responder: RouterResponder<HTTPContext>
  private let streams: EventStreams

  init(_ routes: [HTTPRoute], _ offer: HTTPOutput.Offer, wrongTokens: WrongTokens, streams: EventStreams) {
    self.offer = offer
    let port = offer.port
    let router = Router(context: HTTPContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: HeaderMiddleware(tiles: port.tiles))
    router.add(middleware: AccessMiddleware(port: port, token: offer.token, wrongTokens: wrongTokens))
    router.add(middleware: MissingMiddleware(routes: routes))
    for route in routes { router.on(route.path, method: route.method, use: route.respond) }
    responder = router.buildResponder()
    self.streams = streams
  }

  func endStreams() { streams.end() }
}

/// The site that a server serves now.
final class PresentSite: Sendable {
  private let present: Guarded<HTTPSite>

  init(_ site: HTTPSite) { present = Guarded(site) }

  var site: HTTPSite { present.withLock { $0 } }

  /// - Returns: the old site
  func replace(with new: HTTPSite) -> HTTPSite {
    present.withLock { site in
      defer { site = new }
      return site
    }
  }

  /// - Parameter whenOpen: called once the port is open
  func server(
    at socket: TCPAddress, clientLimit: Int, connections: HTTPConnections, group: any EventLoopGroup,
    whenOpen: @escaping @Sendable () -> Void
  ) -> Server<HTTP1Channel> {
    let logger = Logger(label: "http") { _ in SwiftLogNoOpLogHandler() }
    // The library's time limit is off: it starts when an answer is written, although the answer may not have been
    // sent yet.
    var channel = HTTP1Channel.Configuration(
      additionalChannelHandlers: [
        HTTPConnection(admits: { [self] in site.offer.port.admits($0) }, connections: connections)
      ])
    channel.httpDecoder = .init(maxHeaderFieldSize: 8192, maxHeaderListSize: 16384, maxHeaderFieldCount: 100)
    let child = HTTP1Channel(
      responder: { [self] request, writer, channel in
        let context = HTTPContext(source: .init(channel: channel, logger: logger))
        var head = request.head
        head.path = head.path.map(PathEncoding.normalized)
        let response: Response
        do {
          response = try await site.responder.respond(to: Request(head: head, body: request.body), context: context)
        } catch let error as HTTPParserError {
          throw error
        } catch {
          response = Response(status: .internalServerError)
        }
        try await writer.write(response: response.head, body: response.body)
      }, configuration: channel)
    return Server(
      childChannelSetup: child,
      configuration: .init(
        address: .hostname("\(socket.address)", port: Int(socket.port)), backlog: Int(TCPSocket.backlog),
        availableConnectionsDelegate: .maximum(clientLimit, logger: logger)), onServerRunning: { _ in whenOpen() },
      eventLoopGroup: group, logger: logger)
  }
}

/// Turns errors into answers, and adds to each answer the date, the rule for referrers, and the content policy for
/// browsers: a page may load nothing from other servers except a map that the board file names.
struct HeaderMiddleware: RouterMiddleware {
  typealias Context = HTTPContext

  private let policy: String
  private let referrer: String

  init(tiles: String?) {
    // OpenStreetMap's servers refuse requests without a referrer. Without such a map no server gets a referrer.
    let origin = tiles.flatMap(TileOrigin.init(of:))
    referrer = origin == nil ? "no-referrer" : "strict-origin-when-cross-origin"
    let map = origin.map { " \($0)" } ?? ""
    policy =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:\(map); "
      + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
  }

  func handle(
    _ request: Request, context: HTTPContext, next: (Request, HTTPContext) async throws -> Response
  ) async throws -> Response {
    var response: Response
    do {
      response = try await next(request, context)
    } catch let error as HTTPError {
      response = HeaderMiddleware.refusal(error)
    } catch let error as any HTTPResponseError {
      response = try error.response(from: request, context: context)
    }
    response.headers[.date] = HeaderMiddleware.date
    response.headers[.contentSecurityPolicy] = policy
    response.headers[.xContentTypeOptions] = "nosniff"
    response.headers[HTTPField.Name("Referrer-Policy")!] = referrer
    return response
  }

  /// An error in the library's own format, with a line end for people who read it in a terminal.
  private static func refusal(_ error: HTTPError) -> Response {
    guard let message = error.body else { return Response(status: error.status, headers: error.headers) }
    var json = JSONWriter(capacity: 256)
    json.beginObject()
    json.key("error")
    json.beginObject()
    json.member("message", message)
    json.endObject()
    json.endObject()
    json.endLine()
    var headers = error.headers
    headers[.contentType] = "application/json; charset=utf-8"
    return Response(
      status: error.status, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.bytes)))
  }

  /// The present date, for example `Sat, 21 Nov 2026 13:45:00 GMT`.
  private static var date: String {
    var now = time(nil)
    var parts = tm()
    gmtime_r(&now, &parts)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      // The process stays in the C locale, which has the names of days and months that HTTP requires.
      strftime(buffer.baseAddress!, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
      return String(cString: buffer.baseAddress!)
    }
  }
}

/// Explains why nothing was found: the path does not exist, or it needs another method.
struct MissingMiddleware: RouterMiddleware {
  typealias Context = HTTPContext

  let routes: [HTTPRoute]

  func handle(
    _ request: Request, context: HTTPContext, next: (Request, HTTPContext) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as HTTPError where error.status == .notFound && error.body == nil {
      let methods = routes.filter { $0.matches(request.uri.path) }.map(\.method)
      guard !methods.isEmpty else {
        let guide = routes.contains { $0.matches("openapi.yaml") } ? "; /openapi.yaml lists all paths" : ""
        throw HTTPError(.notFound, message: "there is nothing under this path\(guide)")
      }
      let allowed = methods.flatMap { $0 == .get ? ["GET", "HEAD"] : [$0.rawValue] }.joined(separator: ", ")
      throw HTTPError(.methodNotAllowed, headers: [.allow: allowed], message: "this path accepts \(allowed)")
    }
  }
}
