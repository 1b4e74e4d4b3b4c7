import FoundationEssentials
import Hub

/// What a viewer at the other end of a broker asks a hub for: states, `{"rateHz": 2, "parts": ["position"], "for": 60}`, or a fix
/// now and then, `{"rateHz": 0, "every": 60, "accuracy": 10, "within": 45}`.
struct Interest: Equatable, Sendable {
  /// What is published for it.
  enum Stream: Hashable, Sendable {
    /// The whole state, whatever of it has been asked for.
    case state
    case part(StatePart)

    init?(_ name: some StringProtocol) {
      if name == "state" {
        self = .state
      } else if let part = StatePart(rawValue: String(name)) {
        self = .part(part)
      } else {
        return nil
      }
    }

    var name: String {
      switch self {
      case .state: "state"
      case .part(let part): part.rawValue
      }
    }
  }

  /// Each viewer asks once for each stream.
  struct Key: Hashable, Sendable {
    /// With its user's name and a slash before it, where the topic has one.
    var viewer: String
    var stream: Stream
  }

  private struct Message: Decodable {
    var rateHz: Double?
    var parts: [String]?
    var `for`: Double?
    /// Seconds, metres, seconds.
    var every, accuracy, within: Double?

    private enum CodingKeys: String, CodingKey, CaseIterable {
      case rateHz, rate, parts, `for`, every, accuracy, within
      /// How a viewer calls itself, which its topic says already.
      case name
    }

    init(from decoder: any Decoder) throws {
      try RequestKey.require(CodingKeys.allCases.map(\.rawValue), in: decoder)
      let values = try decoder.container(keyedBy: CodingKeys.self)
      func number(_ key: CodingKeys) throws -> Double? {
        // Whose number is null has meant one: without the key the same words would ask for something else.
        values.contains(key) ? try values.decode(Double.self, forKey: key) : nil
      }
      rateHz = try RequestKey.either(number(.rateHz), number(.rate))
      parts = try values.decodeIfPresent([String].self, forKey: .parts)
      `for` = try number(.for)
      every = try number(.every)
      accuracy = try number(.accuracy)
      within = try number(.within)
    }

    var asksForFixes: Bool { every != nil || accuracy != nil || within != nil }

    /// `nil` for what there cannot be. `"rateHz": 0` beside it lets hubs sleep that know no schedules.
    func fixes(of stream: Stream) -> Interest? {
      guard let every, rateHz ?? 0 == 0, parts == nil, stream == .state || stream == .part(.position),
        let schedule = Schedule(everySeconds: every, accuracyMetres: accuracy, withinSeconds: within)
      else { return nil }
      return Interest(rateHz: 0, parts: [.position], schedule: schedule)
    }

    /// `nil` for what there cannot be.
    func states(of stream: Stream) -> Interest? {
      let rateHz = rateHz ?? 1
      guard (0.001...100).contains(rateHz) else { return nil }
      switch (stream, parts) {
      case (.part(let part), nil): return Interest(rateHz: rateHz, parts: [part])
      // The topic says it already.
      case (.part, .some): return nil
      case (.state, nil): return Interest(rateHz: rateHz, parts: .all)
      case (.state, .some(let names)): return Set(names: names).map { Interest(rateHz: rateHz, parts: $0) }
      }
    }
  }

  /// What is longer is none.
  static let byteLimit = 1024

  /// Of states; 0 where fixes are wanted in their place.
  var rateHz: Double
  /// What is woken for it.
  var parts: Set<StatePart>
  /// When fixes are wanted, and how good.
  var schedule: Schedule?
  /// For how long it lasts, whether the broker can be reached or not; `nil` for as long as the broker says so.
  var duration: Duration?

  /// For how long somebody may ask.
  private static let seconds = 1.0...31_622_400

  /// - Parameter payload: JSON. `"rateHz": 0` alone, and no payload at all, say that nothing is wanted any more
  /// - Returns: what is wanted, and whether the payload makes sense
  static func read(_ payload: [UInt8], of stream: Stream) -> (interest: Interest?, isValid: Bool) {
    if payload.isEmpty { return (nil, true) }
    guard payload.count <= byteLimit, let message = try? JSONDecoder().decode(Message.self, from: Data(payload)) else {
      return (nil, false)
    }
    if message.rateHz == 0, !message.asksForFixes { return (nil, true) }
    guard message.for.map(seconds.contains) ?? true,
      var interest = message.asksForFixes ? message.fixes(of: stream) : message.states(of: stream)
    else { return (nil, false) }
    interest.duration = message.for.map { .nanoseconds(Int64($0 * 1e9)) }
    return (interest, true)
  }
}
