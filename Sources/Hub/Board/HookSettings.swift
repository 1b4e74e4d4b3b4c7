/// An event that triggers hooks, both when it begins and when it ends.
public enum HookEvent: String, CaseIterable, Codable, Sendable {
  /// The board left a fence, or returned.
  case fence
  /// The board's side of a fence has become unknown, because no useful fix came, or is known again.
  case blind
  /// A measured supply is low, or is no longer low.
  case supply
  /// The board shuts down because its battery is empty, or has started again.
  case shutdown
  /// The board is about to sleep, or is awake again.
  case sleep
  /// A receiver reports jamming, or no longer does.
  case jamming
  /// A receiver reports spoofed signals, or no longer does.
  case spoofing
  /// A supply could not be switched off, or has finally been switched off.
  case line
  /// A device failed, or works again.
  case device
}

extension HookEvent {
  /// The events that `any` stands for: all except `sleep`, which is part of normal work.
  public static let troubles = allCases.filter { $0 != .sleep }
}

/// A hook of a board file: its events and its action.
public struct HookSettings: Equatable, Sendable {
  public enum Action: Equatable, Sendable {
    /// Runs a program with arguments, without a shell. The program is killed at the time limit.
    case run([String], limit: Duration)
    case post(Webhook)
    /// Publishes a message at the hub's broker, below the hub's own topic.
    case publish(topic: String)
  }

  /// The destination of posted JSON.
  public struct Webhook: Equatable, Sendable {
    public var url: String
    /// The server, without the rest of the address, which may contain a secret.
    public var origin: TileOrigin
    /// The member `topic` of the JSON, which ntfy needs.
    public var topic: String?
    /// The file with the token for the server.
    public var tokenFile: String?

    /// Whether the server is on this machine.
    public var isLoopback: Bool { origin.host == "localhost" || IPAddress(origin.host)?.isLoopback == true }
  }

  static let usualLimit = Duration.seconds(30)
  private static let limitSeconds = 1.0...300.0
  private static let mostHooks = 16
  private static let mostArguments = 32
  /// The topics that the hub itself uses.
  private static let takenTopics = [
    "status", "health", "devices", "last", "fences", "state", "interest", "command", "answer",
  ]

  /// The place in the board file, for example `on.fence` or `on.any[1]`.
  public var key: String
  public var events: [HookEvent]
  public var action: Action

  /// The topic below the hub's own; `nil` if the hook does not publish.
  public var topic: String? { if case .publish(let topic) = action { topic } else { nil } }

  public var webhook: Webhook? { if case .post(let webhook) = action { webhook } else { nil } }

  /// The program; `nil` if the hook does not run one.
  public var program: String? { if case .run(let words, _) = action { words.first } else { nil } }
}

extension HookSettings {
  /// Reads the section `on`.
  static func read(_ section: BoardSection) throws(BoardError) -> [HookSettings] {
    var section = section
    var hooks: [HookSettings] = []
    for one in try section.sections("any") { hooks.append(try HookSettings(one, HookEvent.troubles)) }
    for event in HookEvent.allCases {
      for one in try section.sections(event.rawValue) { hooks.append(try HookSettings(one, [event])) }
    }
    try section.finish()
    guard hooks.count <= mostHooks else { throw section.wrong(expected: "at most \(mostHooks) hooks") }
    return hooks
  }

  private init(_ section: BoardSection, _ events: [HookEvent]) throws(BoardError) {
    var section = section
    guard ["run", "url", "mqtt"].filter(section.has).count == 1 else {
      throw section.wrong(
        expected: "one of run: [\"/path/of/a/program\"], url: \"https://…\" and mqtt: \"topic\"; a list holds several")
    }
    key = section.path
    self.events = events
    if section.has("run") {
      action = try HookSettings.run(&section)
    } else if section.has("url") {
      action = .post(try HookSettings.webhook(&section))
    } else {
      let topic = try section.required("mqtt")
      let isTaken = HookSettings.takenTopics.contains { topic == $0 || topic.hasPrefix("\($0)/") }
      guard FleetSettings.isTopic(topic), !isTaken else {
        throw section.wrong(
          "mqtt",
          expected: "a topic below the hub's own, such as \"alarm\": letters, digits and any of -_.@, separated by "
            + "slashes, and none of \(HookSettings.takenTopics.joined(separator: ", "))")
      }
      action = .publish(topic: topic)
    }
    try section.finish()
  }

  private static func run(_ section: inout BoardSection) throws(BoardError) -> Action {
    let words = try section.strings("run") ?? []
    let parts = words.first?.split(separator: "/", omittingEmptySubsequences: false) ?? []
    let isPath = parts.count > 1 && parts[0].isEmpty && parts.last?.isEmpty == false && !parts.contains("..")
    guard isPath, words.count <= mostArguments, words.allSatisfy({ $0.utf8.count <= 4096 && !$0.utf8.contains(0) })
    else {
      throw section.wrong(
        "run",
        expected: "a list of a program's absolute path and its arguments, without a shell: "
          + "[\"/usr/local/bin/alarm\", \"--loud\"]")
    }
    let limit = try section.number("limitSeconds", in: limitSeconds)
    return .run(words, limit: limit.map { .nanoseconds(Int64($0 * 1e9)) } ?? usualLimit)
  }

  /// Whether ntfy accepts a topic (binwiederhier/ntfy, `topicRegex` in server/server.go).
  private static func isTopic(_ text: String) -> Bool {
    FleetSettings.isName(text) && !text.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "@") }
  }

  private static func webhook(_ section: inout BoardSection) throws(BoardError) -> Webhook {
    let url = try section.required("url")
    guard let origin = TileOrigin(of: url) else {
      throw section.wrong(
        "url", expected: "an address, such as \"https://ntfy.sh\", without a user, blanks or quotes")
    }
    let topic = try section.name("topic")
    if let topic, !isTopic(topic) {
      throw section.wrong("topic", expected: "at most 64 letters, digits and any of -_")
    }
    return Webhook(url: url, origin: origin, topic: topic, tokenFile: try section.name("tokenFile"))
  }
}
