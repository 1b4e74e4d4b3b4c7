import Fusion
import HTTPTypes
import Hub
import Hummingbird
import HummingbirdCore
import Logging
import MonotonicTime
import NIOCore
import NIOHTTP1
import Publishing
import ServiceLifecycle

/// What is served under which path.
struct HTTPRoutes {
  private let port: Board.HTTPPort
  private let responder: RouterResponder<HTTPContext>
  private let events: EventStream
  private let holds: DeviceHolds

  init(host: HubHost, port: Board.HTTPPort, token: AccessToken?) {
    self.port = port
    let router = Router(context: HTTPContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: HeaderMiddleware(tiles: port.tiles))
    router.add(middleware: AccessMiddleware(port: port, token: token))
    Dashboard(host: host).addRoutes(to: router)
    let events = EventStream(host: host)
    let holds = DeviceHolds(host: host)

    router.get("healthz") { _, _ in HTTPRoutes.text("ok\n") }
    router.get("state") { _, _ in
      HTTPRoutes.json { json in
        let now = MonotonicClock().now
        var state = host.hub.value.lastState.value ?? .init(at: now)
        // Old as it may be by now: the ages say so.
        state.at = now
        StateReport.write(state, to: &json)
      }
    }
    router.get("events") { request, context in
      events.response(to: request, context, rateHz: try HTTPRoutes.number("rate", of: request, in: 0.01...1000))
    }
    router.get("devices") { _, _ in
      HTTPRoutes.json { DevicesReport.write(host.hub.value.devices, at: MonotonicClock().now, to: &$0) }
    }
    router.get("metrics") { _, _ in
      var response = HTTPRoutes.text(MetricsReport.text(host))
      response.headers[.contentType] = "text/plain; version=0.0.4; charset=utf-8"
      return response
    }
    router.post("devices/:id/hold") { request, context in
      let id = try HTTPRoutes.device(context, host.hub.value)
      let seconds = try HTTPRoutes.number("for", of: request, in: 1...86_400) ?? 60
      let peer = context.channel.remoteAddress?.ipAddress ?? "http"
      holds.hold(id, for: .nanoseconds(Int64(seconds * 1e9)), as: "held for \(peer)")
      return HTTPRoutes.hold(id, seconds)
    }
    router.post("devices/:id/release") { _, context in
      let id = try HTTPRoutes.device(context, host.hub.value)
      holds.release(id)
      return HTTPRoutes.hold(id, 0)
    }
    responder = router.buildResponder()
    self.events = events
    self.holds = holds
  }

  func endStreams() { events.end() }

  /// Lets every device go that was held; for when nobody can ask for another hold.
  func releaseHolds() { holds.releaseAll() }

  /// - Parameter whenOpen: called once the port is open
  func server(
    clientLimit: Int, connections: HTTPConnections, group: any EventLoopGroup, whenOpen: @escaping @Sendable () -> Void
  ) -> Server<HTTP1Channel> {
    let (port, responder) = (port, responder)
    let logger = Logger(label: "http") { _ in SwiftLogNoOpLogHandler() }
    var channel = HTTP1Channel.Configuration(
      additionalChannelHandlers: [HTTPConnection(port, connections: connections)], idleTimeout: .seconds(30))
    channel.httpDecoder = .init(maxHeaderFieldSize: 8192, maxHeaderListSize: 16384, maxHeaderFieldCount: 100)
    let child = HTTP1Channel(
      responder: { request, writer, channel in
        let context = HTTPContext(source: .init(channel: channel, logger: logger))
        let response: Response
        do {
          response = try await responder.respond(to: request, context: context)
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
        address: .hostname("\(port.endpoint.address)", port: Int(port.endpoint.port)),
        availableConnectionsDelegate: .maximum(clientLimit, logger: logger)), onServerRunning: { _ in whenOpen() },
      eventLoopGroup: group, logger: logger)
  }

  // MARK: Requests

  private static func device(_ context: HTTPContext, _ hub: Hub) throws -> String {
    let id = try context.parameters.require("id")
    let known = hub.devices.map(\.id)
    guard known.contains(id) else {
      throw HTTPError(.notFound, message: "no device '\(id)'; there is: \(known.joined(separator: ", "))")
    }
    return id
  }

  private static func number(
    _ name: Substring, of request: Request, in range: ClosedRange<Double>
  ) throws -> Double? {
    guard let text = request.uri.queryParameters[name] else { return nil }
    guard let number = Double(text), range.contains(number) else {
      throw HTTPError(
        .badRequest,
        message:
          "'\(name)' must be a number from \(Text.fixed(range.lowerBound, 2)) to \(Text.fixed(range.upperBound, 0))")
    }
    return number
  }

  // MARK: Responses

  private static func text(_ text: String) -> Response {
    Response(
      status: .ok, headers: [.contentType: "text/plain; charset=utf-8", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }

  private static func json(_ write: (inout JSONWriter) -> Void) -> Response {
    var json = JSONWriter()
    write(&json)
    return Response(
      status: .ok, headers: [.contentType: "application/json", .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(bytes: json.bytes)))
  }

  private static func hold(_ id: String, _ seconds: Double) -> Response {
    json { json in
      json.beginObject()
      json.member("class", literal: "HOLD")
      json.member("id", id)
      json.member("seconds", seconds, decimals: 1)
      json.endObject()
      json.endLine()
    }
  }
}
