import HTTPTypes
import Hub
import Hummingbird
import MonotonicTime
import NIOCore
import NIOPosix
import Publishing
import ServiceLifecycle

/// Serves a web page of all hubs at a broker. The page wakes a hub only while a viewer has opened that hub. When this
/// process ends, even by a crash, the broker removes the requests that keep hubs awake.
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
    if isOpen { await untilShutdown() }
    await serving.end()
    directory.end()
    if !isOpen { throw Failure.notServed }
  }
}

/// The routes of a fleet's page and of the requests that the page makes.
struct FleetRoutes {
  /// The maximum number of hubs that one page opens.
  private static let mostOpen = 16

  let directory: FleetDirectory
  let views: FleetViews
  /// The broker's address, which the page shows.
  let broker: String
  let streams: EventStreams

  var all: [HTTPRoute] {
    let page = HTTPDocument(
      lasting: ByteBuffer(bytes: HTMLText.filled(EmbeddedFile.fleetHTML, ["broker": broker])),
      type: "text/html; charset=utf-8")
    return [
      .page("") { request, _ in page.response(to: request) },
      .document("fleet.css", "text/css; charset=utf-8", EmbeddedFile.fleetCSS),
      .document("fleet.js", "text/javascript; charset=utf-8", EmbeddedFile.fleetJS),
      .document("dashboard.css", "text/css; charset=utf-8", EmbeddedFile.dashboardCSS),
      .document("map.js", "text/javascript; charset=utf-8", EmbeddedFile.mapJS),
      HTTPRoute(.get, "healthz") { request, _ in HTTPDocument.text("ok\n", to: request) },
      HTTPRoute(.get, "fleet", asking: ["since"]) { [directory] request, _ in
        let news = try HTTPQuery.text("since", of: request).map { String($0) }
        return HTTPDocument.json(to: request) { directory.write(since: news, to: &$0) }
      },
      HTTPRoute(.get, "events", asking: ["hubs"]) { request, context in
        let hubs = try hubs(of: request)
        // Each hub may have one value that waits and one that is being added.
        return try streams.response(to: request, context, valueLimit: 2 * FleetRoutes.mostOpen) { holder, queue in
          let lifetime = Lifetime()
          for hub in hubs {
            views.news(of: hub).subscribe(as: holder, receiveValue: { queue.send(FleetRoutes.event(hub, $0)) })
              .store(in: lifetime)
          }
          return lifetime
        }
      },
    ]
  }

  /// Reads the hubs from the query: `hubs=boat-7,boat-8`
  private func hubs(of request: Request) throws -> [String] {
    let names = (try HTTPQuery.text("hubs", of: request) ?? "").split(separator: ",").map(String.init)
    guard (1...FleetRoutes.mostOpen).contains(names.count), Set(names).count == names.count else {
      throw HTTPError(.badRequest, message: "'hubs' must be 1 to \(FleetRoutes.mostOpen) names, separated by commas")
    }
    if let unknown = names.first(where: { !directory.knows($0) }) {
      throw HTTPError(.notFound, message: "no hub '\(unknown.prefix(64))' at the broker; /fleet lists them")
    }
    return names
  }

  private static func event(_ hub: String, _ news: FleetView.News) -> ByteBuffer {
    var json = JSONWriter()
    json.beginObject()
    json.member("hub", hub)
    switch news {
    case .state(let text, let at):
      json.key("state")
      json.value(text)
      // A viewer that connects later first gets the last state, which may be old.
      json.member("age", (MonotonicClock().now - at).inSeconds, decimals: 3)
    case .error(let reason): json.member("obstacle", Text.printable(reason))
    }
    json.endObject()
    var event = ByteBuffer(string: "data: ")
    event.writeBytes(json.bytes)
    event.writeString("\n\n")
    return event
  }
}
