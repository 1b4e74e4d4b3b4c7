import Glibc
import Hub
import HummingbirdCore
import NIOCore
import NIOPosix
import Publishing

/// One port while it is open.
final class HTTPServing: Sendable {
  private static let clientLimit = 1100
  /// What a client has to take its leave.
  private static let farewell = TimeAmount.milliseconds(250)

  let offer: HTTPOutput.Offer
  private let routes: HTTPRoutes
  private let server: Server<HTTP1Channel>
  private let connections = HTTPConnections()
  private let group: MultiThreadedEventLoopGroup
  private let task: Task<Void, Never>
  private let phase: MutableProperty<Phase>

  private enum Phase { case opening, open, over }

  /// The port could not be opened.
  var isOver: Bool { phase.value == .over }

  init(_ offer: HTTPOutput.Offer, host: HubHost, sink: JournalSink, on group: MultiThreadedEventLoopGroup) {
    self.offer = offer
    self.group = group
    let endpoint = offer.port.endpoint
    let phase = MutableProperty(Phase.opening)
    self.phase = phase
    routes = HTTPRoutes(host: host, port: offer.port, token: offer.token)
    let server = routes.server(clientLimit: HTTPServing.clientLimit, connections: connections, group: group) {
      phase.value = .open
      let secret = offer.token == nil ? "" : ", with the token"
      sink.write(.notice, "dashboard on http://\(endpoint), open to \(offer.port.audience)\(secret)")
    }
    self.server = server
    task = Task(executorPreference: EventLoopTasks(group.next())) {
      do {
        try await server.run()
      } catch {
        sink.write(.warning, "the dashboard is not served: \(HTTPServing.reason(error, endpoint))")
      }
      phase.value = .over
    }
  }

  /// Says goodbye, and closes the port. Cancelling the server instead would drop connections that it has accepted and not
  /// looked at yet, which its library takes for a mistake and ends the process.
  func end() async {
    routes.endStreams()
    // A server that is asked to stop while it opens its port would drop that in the same way.
    for await phase in phase.readOnly.values(as: "http") where phase != .opening { break }
    let rest = group.next().scheduleTask(in: HTTPServing.farewell) { [connections] in connections.closeAll() }
    try? await server.shutdownGracefully()
    await task.value
    rest.cancel()
    // Only now: a client may have asked for a hold while it was told to go.
    routes.releaseHolds()
  }

  private static func reason(_ error: any Error, _ endpoint: TCPEndpoint) -> String {
    guard let error = error as? IOError else { return "\(endpoint): \(error)" }
    return error.errnoCode == EADDRINUSE
      ? SocketError.portInUse(address: "\(endpoint)").description
      : SocketError.system(path: "\(endpoint)", doing: "listening on", errno: error.errnoCode).description
  }
}
