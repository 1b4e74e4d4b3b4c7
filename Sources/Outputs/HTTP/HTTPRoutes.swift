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

  init(host: HubHost, port: Board.HTTPPort, token: AccessToken?, events: EventStream) {
    self.port = port
    let holds = DeviceHolds(host: host)
    let routes =
      Dashboard(host: host).routes + HTTPRoutes.reading(host, events) + HTTPRoutes.holding(holds, host)
      + HistoryRoutes(history: RecordedHistory(host: host)).routes
      + ReplayRoutes.routes(host.replay)
    let router = Router(context: HTTPContext.self, options: .autoGenerateHeadEndpoints)
    router.add(middleware: HeaderMiddleware(tiles: port.tiles))
    router.add(middleware: AccessMiddleware(port: port, token: token))
    router.add(middleware: MissingMiddleware(routes: routes))
    for route in routes { router.on(route.path, method: route.method, use: route.respond) }
    responder = router.buildResponder()
    self.events = events
    self.holds = holds
  }

  /// What is known, and what comes about.
  private static func reading(_ host: HubHost, _ events: EventStream) -> [HTTPRoute] {
    [
      HTTPRoute(.get, "healthz") { request, _ in text("ok\n", to: request) },
      HTTPRoute(.get, "state") { request, _ in
        json(to: request) { json in
          let now = host.now
          var state = host.hub.value.lastState.value ?? .init(at: now)
          // Old as it may be by now: the ages say so.
          state.at = now
          let pulse = host.hub.value.lastPulse.value
          StateReport.write(state, to: &json) { json in
            guard let pulse else { return }
            json.key("pulse")
            json.beginObject()
            json.key("state")
            json.string(pulse.state.rawValue)
            json.member("age", (now - pulse.at).inSeconds, decimals: 1)
            json.member("jitter", pulse.jitterSeconds, decimals: 9)
            json.member("quantisationError", pulse.quantisationErrorSeconds, decimals: 12)
            json.endObject()
          }
        }
      },
      HTTPRoute(.get, "events") { request, context in
        try events.response(
          to: request, context, rateHz: try HTTPQuery.number("rate", of: request, in: 0.01...1000),
          parts: try HTTPQuery.parts(of: request))
      },
      HTTPRoute(.get, "devices") { request, _ in
        json(to: request) { DevicesReport.write(host.hub.value.devices, at: host.now, to: &$0) }
      },
      HTTPRoute(.get, "metrics") { request, _ in
        text(MetricsReport.text(host), type: "text/plain; version=0.0.4; charset=utf-8", to: request)
      },
    ]
  }

  /// Who keeps a device awake without listening to it.
  private static func holding(_ holds: DeviceHolds, _ host: HubHost) -> [HTTPRoute] {
    [
      HTTPRoute(.get, "holds") { request, _ in json(to: request) { HoldsReport.write(holds.all, to: &$0) } },
      HTTPRoute(.post, "devices/:id/hold") { request, context in
        let device = try device(context, host.hub.value)
        let seconds = try HTTPQuery.number("for", of: request, in: 1...86_400) ?? 60
        let duration = Duration.nanoseconds(Int64(seconds * 1e9))
        if let id = try HTTPQuery.text("hold", of: request) {
          guard let hold = holds.renew(String(id), of: device, for: duration) else { throw unknownHold(id, device) }
          return json(to: request) { HoldsReport.write(hold, to: &$0) }
        }
        let peer = context.address.map { "\($0)" } ?? "http"
        guard let hold = holds.hold(device, for: duration, as: "held for \(peer)") else {
          throw HTTPError(
            .serviceUnavailable, headers: [.retryAfter: "60"],
            message: "there are \(DeviceHolds.limit) holds, as many as there may be")
        }
        return json(to: request) { HoldsReport.write(hold, to: &$0) }
      },
      HTTPRoute(.post, "devices/:id/release") { request, context in
        let id = try HTTPQuery.text("hold", of: request)
        // A hold may outlive its device, which another board file took away.
        let name = PathEncoding.decoded(try context.parameters.require("id"))
        if let id, holds.release(String(id), of: name) {
          return json(to: request) { json in
            HoldsReport.write(.init(id: String(id), device: name, holder: "", remaining: .zero), to: &json)
          }
        }
        let device = try device(context, host.hub.value)
        guard let id else {
          throw HTTPError(
            .badRequest, message: "'hold' has to say which: the id that the answer to /devices/\(device)/hold gave")
        }
        throw unknownHold(id, device)
      },
    ]
  }

  private static func unknownHold(_ id: Substring, _ device: String) -> HTTPError {
    HTTPError(.notFound, message: "no hold '\(id.prefix(40))' on '\(device)': it is over, or never was")
  }

  func endStreams() { events.end() }

  /// Lets every device go that was held; for when nobody can ask for another hold.
  func releaseHolds() { holds.releaseAll() }

  /// - Parameter whenOpen: called once the port is open
  func server(
    at socket: TCPAddress, clientLimit: Int, connections: HTTPConnections, group: any EventLoopGroup,
    whenOpen: @escaping @Sendable () -> Void
  ) -> Server<HTTP1Channel> {
    let (port, responder) = (port, responder)
    let logger = Logger(label: "http") { _ in SwiftLogNoOpLogHandler() }
    var channel = HTTP1Channel.Configuration(
      additionalChannelHandlers: [HTTPConnection(port, connections: connections)], idleTimeout: .seconds(30))
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
        address: .hostname("\(socket.address)", port: Int(socket.port)),
        availableConnectionsDelegate: .maximum(clientLimit, logger: logger)), onServerRunning: { _ in whenOpen() },
      eventLoopGroup: group, logger: logger)
  }

  // MARK: Requests

  private static func device(_ context: HTTPContext, _ hub: Hub) throws -> String {
    let id = PathEncoding.decoded(try context.parameters.require("id"))
    let known = hub.devices.map(\.id)
    guard known.contains(id) else {
      throw HTTPError(.notFound, message: "no device '\(id)'; there is: \(known.joined(separator: ", "))")
    }
    return id
  }

  // MARK: Responses

  private static func text(
    _ text: String, type: String = "text/plain; charset=utf-8", to request: Request
  ) -> Response {
    HTTPDocument(current: ByteBuffer(string: text), type: type, for: request).response(to: request)
  }

  private static func json(to request: Request, _ write: (inout JSONWriter) -> Void) -> Response {
    var json = JSONWriter()
    write(&json)
    return HTTPDocument(current: ByteBuffer(bytes: json.bytes), type: "application/json", for: request)
      .response(to: request)
  }
}
