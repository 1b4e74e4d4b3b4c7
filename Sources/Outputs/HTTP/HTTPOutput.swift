import Glibc
import Guarding
import Hub
import MonotonicTime
import NIOPosix
import Publishing
import ServiceLifecycle

/// Serves the dashboard and the programming interface to browsers and programs. One thread serves all connections. It
/// starts with the first web port in a board file, and then stays.
///
/// The port is the one of the board file in service. If the port cannot be opened, the hub reports this and
/// continues.
public final class HTTPOutput: Service {
  /// The settings of a server. A change of the addresses requires a new server.
  struct Offer: Equatable {
    var port: Board.HTTPPort
    var token: AccessToken?
  }

  private let host: HubHost
  private let sink: JournalSink
  private let budget: DescriptorBudget
  /// The holds. They survive a change of the board file as long as the new one has a web port, through which clients
  /// can end them.
  let holds: DeviceHolds
  private let startThread: @Sendable (@escaping @Sendable () -> Void) -> Int32

  public convenience init(host: HubHost, sink: JournalSink, budget: DescriptorBudget) {
    self.init(host: host, sink: sink, budget: budget) { DetachedThread.start("web port", $0) }
  }

  /// - Parameters:
  ///   - clock: the clock of the holds
  ///   - startThread: starts a thread, and returns 0 or an error number
  init(
    host: HubHost, sink: JournalSink, budget: DescriptorBudget, clock: any MonotonicTimeSource = MonotonicClock(),
    startThread: @escaping @Sendable (@escaping @Sendable () -> Void) -> Int32
  ) {
    self.host = host
    self.sink = sink
    self.budget = budget
    self.startThread = startThread
    holds = DeviceHolds(host: host, clock: clock)
  }

  public func run() async throws {
    // Exchanging the port may take longer than a reload. Only the newest of the waiting boards matters.
    let (boards, queue) = AsyncStream.makeStream(of: Board.self, bufferingPolicy: .bufferingNewest(1))
    let subscription = host.hub.registry.subscribe(as: "http", receiveValue: { queue.yield($0.board) })
    await withGracefulShutdownHandler {
      // The group is made for the first port and kept. Shutting down an event loop starts Dispatch, which would then
      // wake an idle hub again and again.
      var group: MultiThreadedEventLoopGroup?
      var present: HTTPServing?
      for await board in boards {
        // The board that waited when the hub was told to end is not served. The queue ends with the hub's shutdown, which
        // begins a moment later; a service that has ended before would count as failed.
        if host.isEnding { continue }
        let offer = offer(of: board)
        if let present, present.offer == offer {
          // An address that could not be opened before may be free now.
          present.reopen()
          continue
        }
        if let present, let offer, present.change(to: offer, routes: { routes(of: offer, $0) }) { continue }
        await present?.end()
        // This comes last, because a client may have requested a hold while its connection was being closed.
        if offer == nil { holds.releaseAll() }
        present = nil
        guard let offer else { continue }
        if group == nil { group = makeGroup(for: offer) }
        guard let group else { continue }
        present = HTTPServing("dashboard", offer, places: budget.http, traffic: host.traffic, sink: sink, on: group) {
          routes(of: offer, $0)
        }
      }
      await present?.end()
      holds.releaseAll()
    } onGracefulShutdown: {
      queue.finish()
    }
    subscription.cancel()
  }

  private func routes(of offer: Offer, _ streams: EventStreams) -> [HTTPRoute] {
    HubRoutes.all(host, holds, streams, hasToken: offer.token != nil)
  }

  /// Makes the group with its thread. If the system has no thread left, logs that and returns `nil`.
  private func makeGroup(for offer: Offer) -> MultiThreadedEventLoopGroup? {
    // The library ends the whole process if it cannot start its thread. The hub therefore first tests with a thread of
    // its own whether the system can start one.
    let hasRun = WakeSignal()
    let error = startThread { hasRun.raise() }
    guard error != 0 else {
      if hasRun.fileDescriptor >= 0 { hasRun.wait() }
      return MultiThreadedEventLoopGroup(numberOfThreads: 1)
    }
    sink.write(
      .warning,
      "the dashboard is not served on \(offer.port.endpoint): cannot start a thread: \(String(cString: strerror(error)))"
        + "; reload the board file to try again")
    return nil
  }

  /// The board file's settings; `nil` without a port, or if the token cannot be read. Logs why the token cannot be
  /// read.
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
