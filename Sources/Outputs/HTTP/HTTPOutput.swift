import Guarding
import Hub
import NIOPosix
import Publishing
import ServiceLifecycle

/// Serves the dashboard and the programming interface to browsers and programs, on one thread that exists where the board
/// file asks for it.
///
/// The port is that of the board file in service; if it cannot be opened that is reported, and everything else goes on.
public final class HTTPOutput: Service {
  /// What decides whether a server has to make room for another.
  struct Offer: Equatable {
    var port: Board.HTTPPort
    var token: AccessToken?
  }

  private let host: HubHost
  private let sink: JournalSink
  private let budget: DescriptorBudget
  /// They stay while there is a port at which they can be ended, whatever else the board file changes.
  private let holds: DeviceHolds

  public init(host: HubHost, sink: JournalSink, budget: DescriptorBudget) {
    self.host = host
    self.sink = sink
    self.budget = budget
    holds = DeviceHolds(host: host)
  }

  public func run() async throws {
    let (hubs, queue) = AsyncStream.makeStream(of: Hub.self)
    let subscription = host.hub.subscribe(as: "http", receiveValue: { queue.yield($0) })
    await withGracefulShutdownHandler {
      // Made for the first port and kept: to end an event loop takes Dispatch, which would wake an idle hub from then on.
      lazy var group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
      var present: HTTPServing?
      for await hub in hubs {
        let offer = offer(of: hub.board)
        if let present, present.offer == offer {
          // An address that could not be opened may be free by now.
          present.reopen()
          continue
        }
        await present?.end()
        // Only now: a client may have asked for one while it was told to go.
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

  /// The board file's settings, or `nil`; if they cannot be used the reason is reported.
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
