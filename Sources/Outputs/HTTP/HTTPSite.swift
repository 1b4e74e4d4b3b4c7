import HTTPTypes
import Hub
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1

/// The routes of one port.
struct HTTPSite {
  private let port: Board.HTTPPort
  private let responder: RouterResponder<HTTPContext>
  private let streams: EventStreams

  init(
    _ routes: [HTTPRoute], port: Board.HTTPPort, token: AccessToken?, wrongTokens: WrongTokens, streams: EventStreams
  ) {
    self.port = port
    let router = Router(context: HTTPContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: HeaderMiddleware(tiles: port.tiles))
    router.add(middleware: AccessMiddleware(port: port, token: token, wrongTokens: wrongTokens))
    router.add(middleware: MissingMiddleware(routes: routes))
    for route in routes { router.on(route.path, method: route.method, use: route.respond) }
    responder = router.buildResponder()
    self.streams = streams
  }

  func endStreams() { streams.end() }

  /// - Parameter whenOpen: called once the port is open
  func server(
    at socket: TCPAddress, clientLimit: Int, connections: HTTPConnections, group: any EventLoopGroup,
    whenOpen: @escaping @Sendable () -> Void
  ) -> Server<HTTP1Channel> {
    let (port, responder) = (port, responder)
    let logger = Logger(label: "http") { _ in SwiftLogNoOpLogHandler() }
    // The library's time limit is off: it starts when an answer is written, although the answer may not have been
    // sent yet.
    var channel = HTTP1Channel.Configuration(
      additionalChannelHandlers: [HTTPConnection(port, connections: connections)])
    channel.httpDecoder = .init(maxHeaderFieldSize: 8192, maxHeaderListSize: 16384, maxHeaderFieldCount: 100)
    let child = HTTP1Channel(
      responder: { request, writer, channel in
        let context = HTTPContext(source: .init(channel: channel, logger: logger))
        var head = request.head
        head.path = head.path.map(PathEncoding.normalized)
        let response: Response
        do {
          response = try await responder.respond(to: Request(head: head, body: request.body), context: context)
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
