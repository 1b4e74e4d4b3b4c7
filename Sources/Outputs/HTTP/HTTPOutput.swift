import FoundationEssentials
import Glibc
import Guarding
import Hub
import Hummingbird
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
  private static let clientLimit = 1100

  /// What decides whether a server has to make room for another.
  private struct Offer: Equatable {
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
      var serving: (offer: Offer, task: Task<Void, Never>)?
      for await hub in hubs {
        let offer = offer(of: hub.board)
        if offer == serving?.offer { continue }
        await serving?.task.end()
        serving = offer.map { offer in
          let group = group
          return (offer, Task(executorPreference: EventLoopTasks(group.next())) { await self.serve(offer, on: group) })
        }
      }
      await serving?.task.end()
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

  /// Serves until its task is cancelled.
  private func serve(_ offer: Offer, on group: MultiThreadedEventLoopGroup) async {
    let endpoint = offer.port.endpoint
    let routes = HTTPRoutes(host: host, port: offer.port, token: offer.token)
    let server = routes.server(clientLimit: HTTPOutput.clientLimit, group: group) { [sink] in
      let secret = offer.token == nil ? "" : ", with the token"
      sink.write(.notice, "dashboard on http://\(endpoint), open to \(offer.port.audience)\(secret)")
    }
    do {
      try await server.run()
    } catch {
      let reason =
        switch error as? IOError {
        case let error? where error.errnoCode == EADDRINUSE: SocketError.portInUse(address: "\(endpoint)").description
        case let error?:
          SocketError.system(path: "\(endpoint)", doing: "listening on", errno: error.errnoCode).description
        case nil: "\(endpoint): \(error)"
        }
      sink.write(.warning, "the dashboard is not served: \(reason)")
    }
    routes.holds.releaseAll()
  }
}

extension Task where Failure == Never, Success == Void {
  /// Cancels the task and waits until it is over.
  fileprivate func end() async {
    cancel()
    await value
  }
}

extension Board.HTTPPort {
  /// Who may connect.
  public var audience: String {
    endpoint.address.isLoopback || !endpoint.allow.isEmpty ? endpoint.audience : "everybody"
  }
}
