import FoundationEssentials
import Hub

/// What a viewer at the other end of a broker asks a hub for: `{"rateHz": 2, "parts": ["position"], "for": 60}`.
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
    var viewer: String
    var stream: Stream
  }

  private struct Message: Decodable {
    var rateHz: Double?
    var parts: [String]?
    var `for`: Double?
  }

  /// What is longer is none.
  static let byteLimit = 1024

  var rateHz: Double
  /// What is woken for it.
  var parts: Set<StatePart>
  /// For how long it lasts, whether the broker can be reached or not; `nil` for as long as the broker says so.
  var duration: Duration?

  /// - Parameter payload: JSON. `"rateHz": 0`, and no payload at all, say that nothing is wanted any more
  /// - Returns: what is wanted, and whether the payload makes sense
  static func read(_ payload: [UInt8], of stream: Stream) -> (interest: Interest?, isValid: Bool) {
    if payload.isEmpty { return (nil, true) }
    guard payload.count <= byteLimit, let message = try? JSONDecoder().decode(Message.self, from: Data(payload)) else {
      return (nil, false)
    }
    var parts = Set<StatePart>.all
    switch (stream, message.parts) {
    case (.part(let part), nil): parts = [part]
    // The topic says it already.
    case (.part, .some): return (nil, false)
    case (.state, nil): break
    case (.state, .some(let names)):
      guard let named = Set<StatePart>(names: names) else { return (nil, false) }
      parts = named
    }
    let rateHz = message.rateHz ?? 1
    if rateHz == 0 { return (nil, true) }
    guard (0.001...100).contains(rateHz), message.for.map({ (1...31_622_400).contains($0) }) ?? true else {
      return (nil, false)
    }
    return (
      Interest(rateHz: rateHz, parts: parts, duration: message.for.map { .nanoseconds(Int64($0 * 1e9)) }), true
    )
  }
}
