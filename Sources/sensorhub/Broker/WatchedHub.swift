import FoundationEssentials
import Hub
import MonotonicTime
import Outputs

/// A hub whose states are shown, on this machine or at a broker.
protocol WatchedHub: AnyObject {
  /// The next state, as a line of JSON; `.late` if none arrives by the deadline.
  func nextLine(by deadline: MonotonicInstant?) throws -> HubConnection.Line
  /// The activity of the hub's devices, from its latest report. Waits for the report.
  func devices() throws -> [DevicesOfHub.Device]
  /// The report about the hub's devices: a new one from a hub on this machine, the last one received from a hub at a
  /// broker. `nil` if there is none.
  func knownReport() -> DevicesOfHub.Report?
}

/// A hub on this machine.
final class LocalHub: WatchedHub {
  /// The longest wait for a report that is shown next to the states.
  private static let longestReport = Duration.seconds(2)

  private let socket: String?
  private var connection: HubConnection
  private var isNew = true

  private struct Refusal: Decodable {
    var `class`, message: String
  }

  /// Connects to the hub, and sends the request.
  ///
  /// - Parameter request: the request in the form of the hub's socket
  init(_ socket: String?, request: String) throws {
    self.socket = socket
    connection = try HubConnection.open(socket) { $0.state }
    connection.send(request)
  }

  func nextLine(by deadline: MonotonicInstant?) throws -> HubConnection.Line {
    let line = connection.nextLine(by: deadline)
    // If the hub refuses the request, for example because there are too many clients, the refusal arrives in place of
    // the first state.
    if isNew, case .text(let bytes) = line {
      isNew = false
      if let refusal = try? JSONDecoder().decode(Refusal.self, from: Data(bytes)), refusal.class == "ERROR" {
        throw CommandError(
          .unavailable, "the hub refused the request: \(Text.printable(refusal.message))",
          nextStep: "sensorhub devices shows the holders of each device")
      }
    }
    return line
  }

  func devices() throws -> [DevicesOfHub.Device] { try DevicesOfHub.read(socket) }

  /// If the hub has ended, `nextLine` reports it, so an error is ignored here. The wait has a limit, because the states
  /// are not shown in the meantime.
  func knownReport() -> DevicesOfHub.Report? {
    try? DevicesOfHub.report(socket, within: LocalHub.longestReport)
  }
}

/// A hub at a broker. When this program ends, even by a crash, the broker removes the request.
final class RemoteHub: WatchedHub {
  /// How long the broker keeps the request if it is not renewed, in seconds.
  private static let expiry = 120
  /// The maximum wait for the hub's retained messages at the broker, and for its confirmation of a schedule.
  private static let patience = Duration.seconds(5)

  /// The maximum number of hubs that an error suggests.
  private static let mostNames = 10

  private let hub: String
  private let topics: HubTopics
  private let interest: String
  /// The viewer's name at the hub.
  private let viewer: String
  private let isOnSchedule: Bool
  private let lifetime: Duration?
  private let broker: BrokerConnection
  private let clock = MonotonicClock()
  private let interestTopic: String
  private var renewal: MonotonicInstant
  private var lastDevices: [UInt8]?
  private var isOffline = false
  private let place: BrokerURL
  private let options: BrokerOptions
  /// Whether the broker has sent any message of the hub.
  private var isKnown = false
  /// When to report that the broker has no message of the hub; `nil` before the connection, after the report, and once
  /// a message has arrived.
  private var doubt: MonotonicInstant?
  private var hasDoubted = false
  /// When to report that the hub ignores the schedule; `nil` if there is no schedule, the hub has accepted it, or it
  /// was reported already.
  private var refusal: MonotonicInstant?

  /// Connects to the broker, and publishes the request.
  ///
  /// - Parameters:
  ///   - interest: the request in the hub's form
  ///   - isOnSchedule: whether the request is for scheduled fixes
  ///   - lifetime: how long a request for a single state is valid; `nil` for a request that lasts until this program ends
  init(
    _ place: BrokerURL, hub: String, _ options: BrokerOptions, interest: String, isOnSchedule: Bool = false,
    lifetime: Duration? = nil
  ) throws {
    self.hub = hub
    self.place = place
    self.options = options
    self.interest = interest
    topics = HubTopics(topic: options.topic, hub: hub)
    let name = ViewerName.new(for: .watch)
    viewer = place.viewer(name)
    self.isOnSchedule = isOnSchedule
    self.lifetime = lifetime
    interestTopic = topics.interest(of: viewer)
    var settings = try options.options(
      place, identifier: "sensorhub-\(name)",
      subscriptions: [topics.status, topics.states, topics.devices] + (isOnSchedule ? [topics.health] : []))
    settings.will = MQTTOptions.Will(topic: interestTopic, text: "")
    broker = try BrokerConnection(settings)
    renewal = clock.now
    refusal = isOnSchedule ? clock.now + RemoteHub.patience : nil
    lookAgain()
  }

  deinit { broker.end() }

  private func lookAgain() {
    // A hub understands a repeated request for a single state as a new one, and would measure again.
    if let lifetime {
      broker.retain(interestTopic, interest, expirySeconds: UInt32(lifetime.inSeconds.rounded(.up)))
      renewal = clock.now + .seconds(86_400)
    } else {
      broker.retain(interestTopic, interest, expirySeconds: UInt32(RemoteHub.expiry))
      renewal = clock.now + .seconds(Int64(RemoteHub.expiry / 2))
    }
  }

  func nextLine(by deadline: MonotonicInstant?) throws -> HubConnection.Line {
    while true {
      let now = clock.now
      if now >= renewal { lookAgain() }
      if let due = doubt, now >= due { sayUnknown() }
      if let due = refusal, now >= due { sayUntaken() }
      switch try broker.next(by: [renewal, deadline, doubt, refusal].compactMap { $0 }.min()) {
      case .connected: if !isKnown, !hasDoubted { doubt = doubt ?? clock.now + RemoteHub.patience }
      case .late: if let deadline, clock.now >= deadline { return .late }
      case .message(let message):
        isKnown = true
        doubt = nil
        guard message.topic == topics.states else {
          take(message)
          continue
        }
        // Other clients may publish on this topic, so pass on only valid states to the terminal.
        if isMine(message.payload), FleetHub.Report.last.isSound(message.payload) { return .text(message.payload) }
      }
    }
  }

  /// Whether a state answers this request. States for other viewers arrive too.
  private func isMine(_ state: [UInt8]) -> Bool {
    let fix = RequestedFixReport.outcome(state)
    return isOnSchedule ? fix?.viewer == viewer : fix == nil
  }

  private func sayUntaken() {
    refusal = nil
    if isOffline || !isKnown { return }
    Terminal.standardError("\(hub) has not accepted the request for scheduled fixes: its version may be too old")
  }

  /// Prints that the broker has no messages of the hub. The hub may still appear, so the wait continues.
  private func sayUnknown() {
    doubt = nil
    hasDoubted = true
    Terminal.standardError("no hub '\(hub)' is known at \(broker.broker); waiting for it; \(others())")
  }

  /// The names of the hubs at the broker, as the rest of a message.
  private func others() -> String {
    var fleet = FleetListing(topic: options.topic)
    do {
      let connection = try BrokerConnection(
        try options.options(
          place, identifier: "sensorhub-\(ViewerName.new(for: .watch))",
          subscriptions: [HubTopics(topic: options.topic, hub: "+").status]))
      defer { connection.end() }
      try connection.takeRetained { fleet.take($0.topic, $0.payload) }
    } catch {
      return "the other hubs cannot be listed: \(error)"
    }
    let names = fleet.hubs.keys.sorted()
    if names.isEmpty { return "no other hub is known there under '\(options.topic)'" }
    let more = names.count - RemoteHub.mostNames
    return "known hubs: \(names.prefix(RemoteHub.mostNames).joined(separator: ", "))"
      + (more > 0 ? " and \(more) more" : "")
  }

  private func take(_ message: BrokerConnection.Message) {
    if message.topic == topics.devices { lastDevices = message.payload }
    if message.topic == topics.health, FleetHub.Health.read(message.payload)?.viewers?.contains(viewer) == true {
      refusal = nil
    }
    guard message.topic == topics.status else { return }
    let isOffline = message.payload != Array("online".utf8)
    if isOffline, !self.isOffline {
      Terminal.standardError("\(hub) is offline; its states arrive once it is online again")
    }
    self.isOffline = isOffline
  }

  func devices() throws -> [DevicesOfHub.Device] {
    let deadline = clock.now + RemoteHub.patience
    while true {
      if let lastDevices { return try DevicesOfHub.read(lastDevices) }
      switch try broker.next(by: deadline) {
      case .connected: break
      case .message(let message):
        isKnown = true
        take(message)
      case .late:
        throw CommandError(
          .unavailable, "there is no hub '\(hub)' at \(broker.broker)",
          nextStep: "\(others()); sensorhub fleet lists them")
      }
    }
  }

  func knownReport() -> DevicesOfHub.Report? { lastDevices.flatMap { try? DevicesOfHub.report(of: $0) } }
}

/// The name of a viewer at a broker that this program has chosen, such as `hold-1x2y3z`, or `anna/hold-1x2y3z` for the
/// broker's user `anna`. The name is a part of the topics of the viewer's requests.
struct ViewerName: Hashable {
  enum Purpose: String {
    case watch
    case hold
  }

  let text: String
  /// The broker's user, if the viewer has one.
  let user: String?
  let purpose: Purpose

  /// Returns `nil` for the name of a viewer that another program has chosen.
  init?(_ text: String) {
    let levels = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let words = levels.last?.split(separator: "-"), levels.count <= 2, words.count == 2,
      let purpose = Purpose(rawValue: String(words[0])), UInt32(words[1], radix: 36) != nil
    else { return nil }
    self.text = text
    user = levels.count == 2 ? String(levels[0]) : nil
    self.purpose = purpose
  }

  /// Makes a unique name without a user, so that two runs do not end each other's connections.
  static func new(for purpose: Purpose) -> String {
    "\(purpose.rawValue)-" + String(UInt32.random(in: .min ... .max), radix: 36)
  }
}
