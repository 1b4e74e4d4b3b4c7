import FoundationEssentials
import Hub
import MonotonicTime

/// A viewer's request to a hub through a broker: states, `{"rateHz": 2, "parts": ["position"], "for": 60}`, fixes on a
/// schedule, `{"rateHz": 0, "every": 60, "accuracy": 10, "within": 45}`, or one state, `{"rateHz": 0, "maxAge": 30}`.
struct ViewerRequest: Equatable, Sendable {
  /// The stream of messages that answers a request.
  enum Stream: Hashable, Sendable {
    /// The whole state, for viewers that request any parts of it.
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

  /// Identifies a request: each viewer has one per stream.
  struct Key: Hashable, Sendable {
    /// The viewer's name, after its user and a slash if the topic has a user.
    var viewer: String
    var stream: Stream
  }

  private struct Message: Decodable {
    var values: ViewRequest.Values
    var `for`: Double?

    private enum CodingKeys: String, CodingKey, CaseIterable {
      case `for`
      /// The viewer's own name, which the topic contains already.
      case name
    }

    init(from decoder: any Decoder) throws {
      // A member whose number is null has meant a request. Without the member, the same words would request something
      // else.
      values = try ViewRequest.Values(
        from: decoder, besides: CodingKeys.allCases.map(\.rawValue), isNullRefused: true)
      let others = try decoder.container(keyedBy: CodingKeys.self)
      `for` = others.contains(.for) ? try others.decode(Double.self, forKey: .for) : nil
    }

    /// Whether the request is for anything but states.
    var asksForMore: Bool { values.numbers.keys.contains { ![.rateHz, .distance, .batch].contains($0) } }

    /// The request for a stream; `nil` if it is invalid. `"rateHz": 0` next to other keys lets old hubs, which do not
    /// know these keys, sleep.
    func request(of stream: Stream) -> ViewRequest? {
      var values = values
      if values.numbers[.rateHz] == 0 { values.numbers[.rateHz] = nil }
      guard var request = try? ViewRequest(values, rates: ViewerRequest.ratesHz) else { return nil }
      if case .part(let part) = stream {
        // The topic names the part already.
        guard request.parts == nil else { return nil }
        let isOfPosition = request.asksForFixes || request.distanceMetres != nil
        guard !isOfPosition || part == .position else { return nil }
        if !request.asksForFixes { request.parts = [part] }
      }
      if case .states(let rateHz, _) = request.form {
        guard self.values.numbers[.rateHz] != 0 else { return nil }
        request.rateHz = rateHz ?? 1
      }
      return request
    }
  }

  /// How a viewer's values reach the topic, which all viewers share.
  enum Kind: Equatable, Sendable {
    /// States. The fastest viewer's states serve all viewers.
    case states
    /// States of which some are left out or delayed. They are published only if no viewer needs all states.
    case someStates
    /// One state.
    case oneState
    /// Fixes, each with the name of its viewer.
    case fixes
  }

  /// The longest valid request.
  static let byteLimit = 1024
  private static let ratesHz = 0.001...100.0

  var request: ViewRequest
  /// The duration of the request, even if the broker cannot be reached; `nil` if the broker ends it.
  var duration: Duration?

  init(_ request: ViewRequest, duration: Duration? = nil) {
    self.request = request
    self.duration = duration
  }

  /// The rate of states; 0 if the viewer wants something else.
  var rateHz: Double { if case .states(let rateHz, _) = request.form { rateHz ?? 1 } else { 0 } }

  var kind: Kind {
    switch request.form {
    case .states: request.distanceMetres == nil && request.batch == nil ? .states : .someStates
    case .current: .oneState
    case .fixes, .bounded: .fixes
    }
  }

  /// The permitted durations of a request.
  private static let seconds = 1.0...31_622_400

  /// - Parameter payload: JSON. `"rateHz": 0` alone, or an empty payload, ends the request
  /// - Returns: the request, and whether the payload is valid
  static func read(_ payload: [UInt8], of stream: Stream) -> (interest: ViewerRequest?, isValid: Bool) {
    if payload.isEmpty { return (nil, true) }
    guard payload.count <= byteLimit, let message = try? JSONDecoder().decode(Message.self, from: Data(payload)) else {
      return (nil, false)
    }
    if message.values.numbers[.rateHz] == 0, !message.asksForMore { return (nil, true) }
    guard message.for.map(seconds.contains) ?? true, let request = message.request(of: stream) else {
      return (nil, false)
    }
    return (ViewerRequest(request, duration: message.for.map { .nanoseconds(Int64($0 * 1e9)) }), true)
  }
}
