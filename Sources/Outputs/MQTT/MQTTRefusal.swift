/// A message that is not published although others are: the broker refuses it, or it is too long for the hub.
public struct MQTTRefusal: Equatable, Sendable {
  public enum Reason: Hashable, Sendable {
    case notAllowed
    /// The message is too large; `nil` if the broker does not state its limit.
    case tooLarge(byteLimit: Int?)
    case quotaExceeded
    case other(String)

    /// - Parameters:
    ///   - code: a reason code of MQTT 5 (2.4), from 128 on
    ///   - words: the name of the code
    init(code: UInt32, words: String) {
      switch code {
      case 0x87: self = .notAllowed
      case 0x95: self = .tooLarge(byteLimit: nil)
      case 0x97: self = .quotaExceeded
      default: self = .other(words)
      }
    }
  }

  public var topic: String
  /// The size of the payload in bytes.
  public var byteCount: Int
  public var reason: Reason
}

extension MQTTRefusal: CustomStringConvertible {
  /// The refusal, with the next step.
  public var description: String {
    switch reason {
    case .notAllowed: "\(topic): the broker's access list must let this user write there"
    case .tooLarge(let limit):
      "\(topic): \(byteCount) bytes are more than \(limit.map { "the \($0) that the broker accepts in one message" } ?? "the broker accepts"); "
        + "raise the broker's limit (mosquitto: max_packet_size, message_size_limit)"
    case .quotaExceeded: "\(topic): the broker's quota is exceeded; raise the quota, or request fewer values per second"
    case .other(let words): "\(topic): \(words)"
    }
  }
}
