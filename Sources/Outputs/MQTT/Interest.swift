import FoundationEssentials
import Hub
import MonotonicTime

/// What a viewer at the other end of a broker asks a hub for: states, `{"rateHz": 2, "parts": ["position"], "for": 60}`, a fix
/// now and then, `{"rateHz": 0, "every": 60, "accuracy": 10, "within": 45}`, or one state, `{"rateHz": 0, "maxAge": 30}`.
struct Interest: Equatable, Sendable {
  /// The messages that are published for it.
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
    var values: ViewRequest.Values
    var `for`: Double?

    private enum CodingKeys: String, CodingKey, CaseIterable {
      case `for`
      /// How a viewer calls itself, which its topic says already.
      case name
    }

    init(from decoder: any Decoder) throws {
      // Whose number is null has meant one: without the key the same words would ask for something else.
      values = try ViewRequest.Values(
        from: decoder, besides: CodingKeys.allCases.map(\.rawValue), isNullRefused: true)
      let others = try decoder.container(keyedBy: CodingKeys.self)
      `for` = others.contains(.for) ? try others.decode(Double.self, forKey: .for) : nil
    }

    /// Whether it asks for anything but states.
    var asksForMore: Bool { values.numbers.keys.contains { ![.rateHz, .distance, .batch].contains($0) } }

    /// `nil` for what there cannot be. `"rateHz": 0` beside other keys lets hubs sleep that do not know these.
    func request(of stream: Stream) -> ViewRequest? {
      var values = values
      if values.numbers[.rateHz] == 0 { values.numbers[.rateHz] = nil }
      guard var request = try? ViewRequest(values, rates: Interest.ratesHz) else { return nil }
      if case .part(let part) = stream {
        // The topic says it already.
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

  /// How a viewer's values go to the topic, which all viewers share.
  enum Kind: Equatable, Sendable {
    /// States, of which the fastest viewer's are enough for all.
    case states
    /// States of which some are left out, or come later: only where there are no others.
    case someStates
    /// One state.
    case oneState
    /// Each with the name of its viewer.
    case fixes
  }

  /// A longer message is no request.
  static let byteLimit = 1024
  private static let ratesHz = 0.001...100.0

  var request: ViewRequest
  /// For how long it lasts, whether the broker can be reached or not; `nil` for as long as the broker says so.
  var duration: Duration?

  init(_ request: ViewRequest, duration: Duration? = nil) {
    self.request = request
    self.duration = duration
  }

  /// Of states; 0 if something else is wanted in their place.
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
  static func read(_ payload: [UInt8], of stream: Stream) -> (interest: Interest?, isValid: Bool) {
    if payload.isEmpty { return (nil, true) }
    guard payload.count <= byteLimit, let message = try? JSONDecoder().decode(Message.self, from: Data(payload)) else {
      return (nil, false)
    }
    if message.values.numbers[.rateHz] == 0, !message.asksForMore { return (nil, true) }
    guard message.for.map(seconds.contains) ?? true, let request = message.request(of: stream) else {
      return (nil, false)
    }
    return (Interest(request, duration: message.for.map { .nanoseconds(Int64($0 * 1e9)) }), true)
  }
}
