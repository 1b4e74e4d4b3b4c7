import FoundationEssentials

/// Cuts the bytes of a Signal K client into messages, one JSON object per line, and reads its subscriptions:
/// `{"context": "vessels.self", "subscribe": [{"path": "navigation.*", "period": 1000}]}`.
struct SignalKRequests {
  /// When a value is sent: `ideal` and `fixed` send it once a period, `instant` with each change.
  enum Policy: String, Decodable { case instant, ideal, fixed }

  struct Subscription: Decodable, Equatable {
    var path: String
    var period: Double?
    var minPeriod: Double?
    var policy: Policy?
    var format: String?
  }

  struct Message: Decodable {
    struct Path: Decodable { var path: String }

    var context: String?
    var subscribe: [Subscription]?
    var unsubscribe: [Path]?
  }

  enum Line {
    case message(Message)
    /// The message is wrong; the text says why.
    case refused(String)
  }

  /// The longest message in bytes. It has room for many paths.
  static let maximumLength = 16 << 10

  private var pending: [UInt8] = []

  /// Takes the next bytes.
  ///
  /// - Returns: the messages that they complete
  mutating func take(_ bytes: UnsafeBufferPointer<UInt8>) -> [Line] {
    pending += bytes
    var lines = pending.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    pending = Array(lines.removeLast())
    var messages = lines.map { $0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0 }.filter { !$0.isEmpty }.map {
      SignalKRequests.read($0)
    }
    if pending.count > SignalKRequests.maximumLength {
      pending = []
      messages.append(.refused("a message must be shorter than \(SignalKRequests.maximumLength) bytes"))
    }
    return messages
  }

  private static func read(_ line: ArraySlice<UInt8>) -> Line {
    guard let message = try? JSONDecoder().decode(Message.self, from: Data(line)) else {
      return .refused(
        "send one JSON object per line, such as "
          + #"{"context":"vessels.self","subscribe":[{"path":"navigation.position","period":1000}]}, with the policy "#
          + "instant, ideal or fixed")
    }
    if let format = message.subscribe?.lazy.compactMap(\.format).first(where: { $0 != "delta" }) {
      return .refused("the format '\(Text.printable(String(format.prefix(20))))' is not served: use delta")
    }
    return .message(message)
  }
}
