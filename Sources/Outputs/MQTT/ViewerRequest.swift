import FoundationEssentials
import Hub
import MonotonicTime

/// A viewer's request to a hub through a broker. It asks for states, `{"rateHz": 2, "parts": ["position"], "for":
/// 60}`, for fixes on a schedule, `{"rateHz": 0, "every": 60, "accuracy": 10, "within": 45}`, or for one state,
/// `{"rateHz": 0, "maxAge": 30}`.
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
    /// The viewer's name. If the topic has a user, the user and a slash precede the name.
    var viewer: String
    var stream: Stream
  }

  private struct Message: Decodable {
    var values: ViewRequest.Values
    var `for`: Double?

    private enum CodingKeys: String, CodingKey, CaseIterable {
      case `for`
      /// This key is accepted and ignored, because the topic names the viewer.
      case name
    }

    init(from decoder: any Decoder) throws {
      // A number that is null is refused. If it were treated as missing, the rest would be a different request.
      values = try ViewRequest.Values(
        from: decoder, besides: CodingKeys.allCases.map(\.rawValue), isNullRefused: true)
      let others = try decoder.container(keyedBy: CodingKeys.self)
      `for` = others.contains(.for) ? try others.decode(Double.self, forKey: .for) : nil
    }

    /// Whether the request is for values other than plain states.
    var asksForMore: Bool { values.numbers.keys.contains { ![.rateHz, .distance, .batch].contains($0) } }

    /// The request for a stream; `nil` if it is invalid. With `"rateHz": 0` next to other keys, an old hub, which does
    /// not know these keys, wakes no device.
    func request(of stream: Stream) -> ViewRequest? {
      var values = values
      if values.numbers[.rateHz] == 0 { values.numbers[.rateHz] = nil }
      guard var request = try? ViewRequest(values, rates: ViewerRequest.ratesHz) else { return nil }
      if case .part(let part) = stream {
        // The topic already names the part, so the request must not.
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

  /// The kind of values that a viewer gets. All viewers share one topic, so the kind decides which values appear there.
  enum Kind: Equatable, Sendable {
    /// States. The states for the viewer with the highest rate serve all viewers.
    case states
    /// States, some of which are left out or delayed. They are published only if no viewer needs every state.
    case someStates
    /// One state, which is the answer to one request.
    case oneState
    /// Fixes, each with the name of its viewer.
    case fixes
  }

  /// The longest valid request, in bytes.
  static let byteLimit = 1024
  private static let ratesHz = 0.001...100.0

  var request: ViewRequest
  /// The duration of the request, which also runs while there is no connection to the broker; `nil` if the request has
  /// no duration of its own.
  var duration: Duration?

  init(_ request: ViewRequest, duration: Duration? = nil) {
    self.request = request
    self.duration = duration
  }

  /// The requested rate of states; 0 if the viewer requests other values.
  var rateHz: Double { if case .states(let rateHz, _) = request.form { rateHz ?? 1 } else { 0 } }

  /// The parts whose devices the request wakes.
  var wokenParts: Set<StatePart> {
    switch kind {
    case .states, .someStates, .oneState: request.parts ?? Set(StatePart.allCases)
    case .fixes: [.position]
    }
  }

  /// Whether the devices stay awake as long as the request lasts.
  var keepsAwake: Bool {
    switch kind {
    case .states, .someStates: true
    case .oneState, .fixes: false
    }
  }

  var kind: Kind {
    switch request.form {
    case .states: request.distanceMetres == nil && request.batch == nil ? .states : .someStates
    case .current: .oneState
    case .fixes, .bounded: .fixes
    }
  }

  /// The permitted durations of a request, in seconds.
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
