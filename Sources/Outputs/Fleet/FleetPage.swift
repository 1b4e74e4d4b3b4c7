import Hub
import MonotonicTime
import NIOPosix
import ServiceLifecycle

/// Serves a web page of all hubs at a broker. The page wakes a hub only while a viewer has opened that hub. When this
/// process ends, even by a crash, the broker removes the requests.
public final class FleetPage: Service {
  /// The reason why the page cannot be served.
  public enum Failure: Error, Equatable {
    /// Other machines may connect, and there is no token.
    case noToken
    case unreadableToken(String)
    case noClient(MQTTError)
    /// The port cannot be served; the log says why.
    case notServed
  }

  private let offer: HTTPOutput.Offer
  private let broker: BrokerAddress
  private let directory: FleetDirectory
  private let views: FleetViews
  private let sink: JournalSink
  private let budget: DescriptorBudget

  /// - Parameters:
  ///   - options: how to connect to the broker; the will, the subscriptions and the identifier are replaced
  ///   - topic: the first part of the topics of all hubs
  ///   - user: the user at the broker in whose name requests are made; `nil` without a user
  ///   - hub: the name of the only hub to show; `nil` for all
  public init(
    at port: Board.HTTPPort, _ options: MQTTOptions, topic: String, user: String?, hub: String?, sink: JournalSink,
    budget: DescriptorBudget
  ) throws(Failure) {
    do throws(AccessToken.Failure) {
      offer = HTTPOutput.Offer(port: port, token: try AccessToken.load(for: port))
    } catch {
      throw error.isMissing ? .noToken : .unreadableToken(error.description)
    }
    if let warning = port.tokenFile.flatMap(SecretFile.warning) { sink.write(.warning, "the token: \(warning)") }
    broker = options.broker
    directory = FleetDirectory(options, topic: topic, hub: hub, sink: sink)
    views = FleetViews(options, topic: topic, user: user)
    self.sink = sink
    self.budget = budget
  }

  public func run() async throws {
    do throws(MQTTError) {
      try directory.begin()
    } catch {
      throw Failure.noClient(error)
    }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let serving = HTTPServing(
      "fleet", offer, places: budget.http, traffic: OutputTraffic(), sink: sink, on: group
    ) { [directory, views, broker] streams in
      FleetRoutes(directory: directory, views: views, broker: broker.host, streams: streams).all
    }
    let isOpen = await serving.isOpen
    if isOpen { try? await gracefulShutdown() }
    await serving.end()
    directory.end()
    if !isOpen { throw Failure.notServed }
  }
}
