import Guarding
import Hub
import NIOPosix
import Publishing
import ServiceLifecycle

/// Serves the dashboard and the programming interface to browsers and programs. One thread serves all connections. It
/// starts with the first web port in a board file, and then stays.
///
/// The port is the one of the board file in service. If the port cannot be opened, the hub reports this and
/// continues.
public final class HTTPOutput: Service {
  /// The settings that require a new server if they change.
  struct Offer: Equatable {
    var port: Board.HTTPPort
    var token: AccessToken?
  }

  private let host: HubHost
  private let sink: JournalSink
  private let budget: DescriptorBudget
  /// The holds. They survive a change of the board file as long as the new one has a web port, through which clients
  /// can end them.
  private let holds: DeviceHolds

  public init(host: HubHost, sink: JournalSink, budget: DescriptorBudget) {
    self.host = host
    self.sink = sink
    self.budget = budget
    holds = DeviceHolds(host: host)
  }

  public func run() async throws {
    let (boards, queue) = AsyncStream.makeStream(of: Board.self)
    let subscription = host.hub.registry.subscribe(as: "http", receiveValue: { queue.yield($0.board) })
    await withGracefulShutdownHandler {
      // The group is made for the first port and kept. Shutting down an event loop starts Dispatch, which would then
      // wake an idle hub again and again.
      lazy var group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      var present: HTTPServing?
      for await board in boards {
        let offer = offer(of: board)
        if let present, present.offer == offer {
          // An address that could not be opened before may be free now.
          present.reopen()
          continue
        }
        await present?.end()
        // This comes last, because a client may have requested a hold while its connection was being closed.
        if offer == nil { holds.releaseAll() }
        present = offer.map { offer in
          HTTPServing("dashboard", offer, places: budget.http, traffic: host.traffic, sink: sink, on: group) {
            HubRoutes.all(host, holds, $0, hasToken: offer.token != nil)
          }
        }
      }
      await present?.end()
      holds.releaseAll()
    } onGracefulShutdown: {
      queue.finish()
    }
    subscription.cancel()
  }

  /// The board file's settings; `nil` without a port, or if the token cannot be read, which is logged.
  private func offer(of board: Board) -> Offer? {
    guard let port = board.http else { return nil }
    do throws(AccessToken.Failure) {
      let token = try AccessToken.load(for: port)
      if let warning = port.tokenFile.flatMap(SecretFile.warning) { sink.write(.warning, "the token: \(warning)") }
      return Offer(port: port, token: token)
    } catch {
      sink.write(.warning, "the dashboard is not served on \(port.endpoint): \(error)")
      return nil
    }
  }
}
