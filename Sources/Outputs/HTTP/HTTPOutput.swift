import FoundationEssentials
import Glibc
import Guarding
import Hub
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import Publishing
import ServiceLifecycle

/// Serves the dashboard and the programming interface to browsers and programs, on one thread that exists where the board
/// file asks for it.
///
/// The port is that of the board file in service; if it cannot be opened that is reported, and everything else goes on.
public final class HTTPOutput: Service {
  fileprivate static let clientLimit = 1100

  /// What decides whether a server has to make room for another.
  fileprivate struct Offer: Equatable {
    var port: Board.HTTPPort
    var token: AccessToken?
  }

  private let host: HubHost
  private let sink: JournalSink

  public init(host: HubHost, sink: JournalSink) {
    self.host = host
    self.sink = sink
  }

  public func run() async throws {
    let (hubs, queue) = AsyncStream.makeStream(of: Hub.self)
    let subscription = host.hub.subscribe(as: "http", receiveValue: { queue.yield($0) })
    await withGracefulShutdownHandler {
      // Made for the first port and kept: to end an event loop takes Dispatch, which would wake an idle hub from then on.
      lazy var group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      var present: Serving?
      for await hub in hubs {
        let offer = offer(of: hub.board)
        // One that could not be opened is tried again: its port may be free by now.
        if let present, present.offer == offer, !present.isOver { continue }
        await present?.end()
        present = offer.map { Serving($0, host: host, sink: sink, on: group) }
      }
      await present?.end()
    } onGracefulShutdown: {
      queue.finish()
    }
    subscription.cancel()
  }

  /// What the board file asks for, or `nil`, with the reason reported where it asks for something.
  private func offer(of board: Board) -> Offer? {
    guard let port = board.http else { return nil }
    do throws(AccessToken.Failure) {
      let token = try AccessToken.load(from: port.tokenFile)
      guard token != nil || port.endpoint.address.isLoopback else {
        sink.write(.warning, "the dashboard is not served on \(port.endpoint): \(AccessToken.Failure.missing)")
        return nil
      }
      return Offer(port: port, token: token)
    } catch {
      sink.write(.warning, "the dashboard is not served on \(port.endpoint): \(error)")
      return nil
    }
  }
}

/// One port while it is open.
private final class Serving: Sendable {
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
    let server = routes.server(clientLimit: HTTPOutput.clientLimit, connections: connections, group: group) {
      phase.value = .open
      let secret = offer.token == nil ? "" : ", with the token"
      sink.write(.notice, "dashboard on http://\(endpoint), open to \(offer.port.audience)\(secret)")
    }
    self.server = server
    task = Task(executorPreference: EventLoopTasks(group.next())) {
      do {
        try await server.run()
      } catch {
        sink.write(.warning, "the dashboard is not served: \(Serving.reason(error, endpoint))")
      }
      phase.value = .over
    }
  }

  /// Says goodbye, and closes the port. Cancelling the server instead would drop connections that it has accepted and not
  /// looked at yet, which its library takes for a mistake and ends the process.
  func end() async {
    routes.end()
    // A server that is asked to stop while it opens its port would drop that in the same way.
    for await phase in phase.readOnly.values(as: "http") where phase != .opening { break }
    let rest = group.next().scheduleTask(in: Serving.farewell) { [connections] in connections.closeAll() }
    try? await server.shutdownGracefully()
    await task.value
    rest.cancel()
  }

  private static func reason(_ error: any Error, _ endpoint: TCPEndpoint) -> String {
    guard let error = error as? IOError else { return "\(endpoint): \(error)" }
    return error.errnoCode == EADDRINUSE
      ? SocketError.portInUse(address: "\(endpoint)").description
      : SocketError.system(path: "\(endpoint)", doing: "listening on", errno: error.errnoCode).description
  }
}

extension Board.HTTPPort {
  /// Who may connect.
  public var audience: String {
    endpoint.address.isLoopback || !endpoint.allow.isEmpty ? endpoint.audience : "everybody"
  }
}
