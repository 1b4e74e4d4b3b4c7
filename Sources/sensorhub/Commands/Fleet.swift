import ArgumentParser
import Guarding
import Hub
import Logging
import MonotonicTime
import Outputs
import ServiceLifecycle

/// Works with the hubs at a broker.
struct Fleet: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the hubs at an MQTT broker, or keep one of them awake.",
    discussion: """
      A list wakes no hub: it shows what the hubs have last published at the broker.

      Example: sensorhub fleet mqtts://broker.example
      Example: sensorhub fleet hold mqtts://broker.example/boat-7 --for 60
      Example: sensorhub fleet --http 8080 mqtts://broker.example
      """,
    subcommands: [FleetList.self, FleetHold.self], defaultSubcommand: FleetList.self)
}

/// Lists the hubs with their activity and holders, and how old their reports are; or serves a page with them.
struct FleetList: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Show the hubs, their awake devices and holders, and their energy. Wakes nothing.",
    discussion: """
      With --http the command serves a page with a map. Opening a hub on the page wakes the hub's receiver; closing the \
      hub or the page lets the receiver sleep. Clients on other machines need a token.

      Example: sensorhub fleet --http 8080 mqtts://broker.example
      Example: sensorhub fleet --http 0.0.0.0:8080 --token-file token mqtts://broker
      """)

  @Argument(help: ArgumentHelp("The broker: mqtt[s]://[user@]host[:port].", valueName: "broker"))
  var place: BrokerURL

  @OptionGroup var broker: BrokerOptions

  @Flag(help: "Print a JSON object for each hub.")
  var json = false

  @Option(
    help: ArgumentHelp(
      "Serve a page instead of printing a list. Without an address, only this machine can open the page.",
      valueName: "[address:]port"))
  var http: HTTPAddress?

  @Option(help: ArgumentHelp("With --http: the file with the token that clients need.", valueName: "file"))
  var tokenFile: String?

  @Option(
    help: ArgumentHelp(
      "With --http: another name under which browsers reach this machine; may be given again.", valueName: "name"))
  var host: [String] = []

  func validate() throws {
    if http != nil, json { throw ValidationError("--json cannot be combined with --http") }
    if http == nil, tokenFile != nil || !host.isEmpty {
      throw ValidationError("--token-file and --host need --http")
    }
  }

  /// Serves the page until a signal ends it.
  func serve() async throws {
    guard let http else { return }
    let sink = JournalSink()
    let options = try broker.options(
      place, identifier: "sensorhub-\(ViewerName.new(for: .watch))", subscriptions: [])
    let port = Board.HTTPPort(at: http.socket, tokenFile: tokenFile, hosts: host)
    let page: FleetPage
    do throws(FleetPage.Failure) {
      page = try FleetPage(
        at: port, options, topic: broker.topic, user: place.userName, hub: place.hub, sink: sink, budget: .raised())
    } catch {
      throw FleetList.explained(error, http)
    }
    let group = Guarded<ServiceGroup?>(nil)
    let signals = try SignalListener(
      onTerminate: { if let group = group.withLock({ $0 }) { group.triggersShutdown() } },
      onReload: {})
    let services = ServiceGroup(
      services: [signals, page], logger: Logger(label: "sensorhub") { _ in SwiftLogNoOpLogHandler() })
    group.withLock { $0 = services }
    do {
      try await services.run()
    } catch let failure as FleetPage.Failure {
      sink.flush(within: .seconds(1))
      throw FleetList.explained(failure, http)
    }
    sink.flush(within: .seconds(1))
  }

  private static func explained(_ failure: FleetPage.Failure, _ place: HTTPAddress) -> CommandError {
    switch failure {
    case .noToken:
      CommandError(
        .noPermission, "clients on other machines need a token",
        nextStep: "name its file with --token-file; 'openssl rand -hex 16' creates a token")
    case .unreadableToken(let reason): CommandError(.noInput, reason)
    case .noClient(let error): CommandError(.unavailable, error.description)
    case .notServed: CommandError(.unavailable, "cannot serve the page on http://\(place.socket)")
    }
  }

  func run() throws {
    var fleet = FleetListing(topic: broker.topic)
    let connection = try BrokerConnection(
      try broker.options(
        place, identifier: "sensorhub-\(ViewerName.new(for: .watch))",
        subscriptions: fleet.subscriptions(hub: place.hub)))
    try connection.takeRetained { fleet.take($0.topic, $0.payload) }
    connection.end()
    if fleet.hubs.isEmpty { Terminal.standardError("no hub has joined \(place.broker) under '\(broker.topic)'") }
    for (name, hub) in fleet.hubs.filter({ !$0.value.isGone }).sorted(by: { $0.key < $1.key }) {
      if json { Terminal.standardOutput(json: hub.json(name)) } else { Terminal.standardOutput(hub.text(name)) }
    }
  }
}

/// Keeps a hub's devices awake for a given time, or ends such holds.
struct FleetHold: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "hold",
    abstract: "Keep a hub's devices awake for some time, even if no client watches.",
    discussion: """
      If the hub is offline, the broker keeps the request until its time has passed. The command ends as soon as the hub \
      confirms the request, and the hold continues. Ctrl-C does not cancel the request; --release does.

      Example: sensorhub fleet hold mqtts://broker.example/boat-7 --for 60
      Example: sensorhub fleet hold mqtts://broker.example/boat-7 --parts position
      Example: sensorhub fleet hold mqtts://broker.example/boat-7 --release
      """)

  @Argument(help: ArgumentHelp("The hub: mqtt[s]://[user@]host[:port]/hub.", valueName: "hub"))
  var place: BrokerURL

  @OptionGroup var broker: BrokerOptions

  @Option(
    name: .customLong("for"), parsing: .unconditional,
    help: ArgumentHelp("How long to hold: 90, 10m, 1.5h. Default: one minute.", valueName: "time"))
  var time: DurationOption?

  @Option(
    help: ArgumentHelp(
      "Wake only the devices that measure these parts of the state. A list of \(Set<StatePart>.all.names), separated by commas.",
      valueName: "names"))
  var parts: String?

  @Option(
    name: [.customLong("rate-hz"), .long], parsing: .unconditional,
    help: ArgumentHelp("States per second.", valueName: "hz"))
  var rate = 1.0

  @Flag(help: "Cancel all holds of the hub, or only one user's if the broker's address names a user.")
  var release = false

  private var chosen: Set<StatePart>? {
    Set(names: (parts ?? "").split(separator: ",", omittingEmptySubsequences: false).map { $0.filter { $0 != " " } })
  }

  func validate() throws {
    if place.hub == nil { throw ValidationError("name the hub too: \(place.broker)/boat-7") }
    if parts != nil, chosen == nil {
      throw ValidationError("--parts must be a list of \(Set<StatePart>.all.names), separated by commas")
    }
    if !(0.001...100).contains(rate) { throw ValidationError("--rate must be from 0.001 to 100") }
    if release, time != nil || parts != nil {
      throw ValidationError("--release cannot be combined with --for or --parts")
    }
    if seconds < 1 { throw ValidationError("--for must be at least a second") }
  }

  private var seconds: Int { Int((time?.duration.inSeconds ?? 60).rounded()) }

  /// The maximum time for the hub to confirm a request, and for the broker to remove one.
  private static let patience = Duration.seconds(5)

  func run() throws {
    guard let hub = place.hub else { return }
    let topics = HubTopics(topic: broker.topic, hub: hub)
    let identifier = ViewerName.new(for: .hold)
    if release { return try takeBack(hub, topics, identifier) }
    let name = place.viewer(identifier)
    let connection = try BrokerConnection(
      try broker.options(place, identifier: "sensorhub-\(identifier)", subscriptions: [topics.health, topics.status]))
    let named = chosen.map { ",\"parts\":[\($0.map { "\"\($0.rawValue)\"" }.sorted().joined(separator: ","))]" } ?? ""
    connection.retain(
      topics.interest(of: name), "{\"rateHz\":\(rate),\"for\":\(seconds)\(named)}", expirySeconds: UInt32(seconds))
    let clock = MonotonicClock()
    var deadline: MonotonicInstant?
    while true {
      switch try connection.next(by: deadline) {
      case .connected: deadline = deadline ?? clock.now + FleetHold.patience
      case .message(let message):
        guard message.topic == topics.health, FleetHub.Health.read(message.payload)?.viewers?.contains(name) == true
        else { continue }
        connection.end()
        Terminal.standardOutput("\(hub) is held for \(Text.duration(seconds: Double(seconds)))")
        return
      case .late:
        connection.end()
        throw CommandError(
          .unavailable,
          "\(hub) has not confirmed the request within \(Text.duration(seconds: FleetHold.patience.inSeconds))",
          nextStep:
            "sensorhub fleet shows whether the hub is online; the broker keeps the request until its time has passed")
      }
    }
  }

  private func takeBack(_ hub: String, _ topics: HubTopics, _ identifier: String) throws {
    // Without a user in the broker's address, release the holds of all users.
    let whose = place.userName == nil ? ["+", "+/+"] : [place.viewer("+")]
    let connection = try BrokerConnection(
      try broker.options(
        place, identifier: "sensorhub-\(identifier)",
        subscriptions: whose.map(topics.interest(of:)) + [topics.health]))
    var held: Set<ViewerName> = []
    /// The holds that the hub reports, including those of other users.
    var known: Set<ViewerName> = []
    func hold(_ viewer: String) -> ViewerName? { ViewerName(viewer).flatMap { $0.purpose == .hold ? $0 : nil } }
    func take(_ message: BrokerConnection.Message) {
      if message.topic == topics.health {
        known = Set((FleetHub.Health.read(message.payload)?.viewers ?? []).compactMap(hold))
      }
      guard let viewer = topics.viewer(ofInterest: message.topic).flatMap(hold) else { return }
      if message.payload.isEmpty { held.remove(viewer) } else { held.insert(viewer) }
    }
    try connection.takeRetained(take)
    let released = held
    for viewer in held { connection.retain(topics.interest(of: viewer.text), "", expirySeconds: 0) }
    // Wait until the broker has sent each removal back to this client, which shows that the request is removed.
    let deadline = MonotonicClock().now + FleetHold.patience
    while !held.isDisjoint(with: released) {
      switch try connection.next(by: deadline) {
      case .message(let message): take(message)
      case .connected: break
      case .late:
        connection.end()
        throw CommandError(.unavailable, "\(place.broker) has not removed \(hub)'s holds", nextStep: "try again")
      }
    }
    connection.end()
    func names(_ viewers: Set<ViewerName>) -> String {
      viewers.map(\.text).sorted().map(Text.printable).joined(separator: ", ")
    }
    let user = place.userName.map { " by \($0)" } ?? ""
    let others: Set<ViewerName> = place.userName.map { user in known.filter { $0.user != user } } ?? []
    let outcome =
      released.isEmpty ? "is not held\(user)" : "is no longer held\(user): \(names(released)) released"
    let rest = others.isEmpty ? "" : "; \(names(others)) remain\(others.count == 1 ? "s" : "")"
    Terminal.standardOutput("\(hub) \(outcome)\(rest)")
  }
}

/// The address of a page: `8080` for this machine only, `0.0.0.0:8080`, `[::1]:8080`.
struct HTTPAddress: ExpressibleByArgument {
  var socket: TCPAddress

  init?(argument: String) {
    var (host, port) = (Substring("127.0.0.1"), argument[...])
    if let colon = argument.lastIndex(of: ":") {
      (host, port) = (argument[..<colon], argument[argument.index(after: colon)...])
    }
    if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
    guard let address = IPAddress(String(host)), let number = UInt16(port), number > 0 else { return nil }
    socket = TCPAddress(address: address, port: number)
  }
}
