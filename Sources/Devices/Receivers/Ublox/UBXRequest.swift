import NMEA
import UBX

/// A message that a u-blox receiver acknowledges, or answers with a message of the same kind.
struct UBXRequest: ReceiverRequest {
  let bytes: [UInt8]
  private let kind: UInt16
  var subject: String { "UBX \(kind)" }
  private let wantsMessage: Bool
  /// The first bytes of the answer, if messages of its kind have several meanings.
  private let prefix: [UInt8]
  private var payload: [UInt8]?
  private var strange: String?

  /// A request that changes a setting.
  init(setting message: UBXMessage) { self.init(message, wantsMessage: false) }

  /// A request for a value.
  ///
  /// - Parameter prefix: the first bytes of the answer, if messages of its kind have several meanings
  init(asking message: UBXMessage, prefix: [UInt8] = []) { self.init(message, wantsMessage: true, prefix: prefix) }

  private init(_ message: UBXMessage, wantsMessage: Bool, prefix: [UInt8] = []) {
    bytes = message.bytes
    kind = message.kind
    self.wantsMessage = wantsMessage
    self.prefix = prefix
  }

  mutating func take(_ frame: ReceiverFramer.Frame) -> ReceiverAnswer? {
    guard case .message(let message) = frame, message.format == .ubx else { return nil }
    if let acknowledgement = UBXAcknowledgement(message) { return take(acknowledgement) }
    guard wantsMessage, message.kind == kind else { return nil }
    let answer = message.payloadCopy
    // An echo of the question is not an answer.
    guard !answer.isEmpty, answer.starts(with: prefix) else { return nil }
    payload = answer
    // An acknowledgement follows an answer about settings. Wait for it, so that it does not count for a later command.
    return kind >> 8 == 0x06 ? nil : .answered(answer)
  }

  private mutating func take(_ acknowledgement: UBXAcknowledgement) -> ReceiverAnswer? {
    guard acknowledgement.kind == kind else {
      strange = "the result of another command"
      return nil
    }
    guard acknowledgement.isAccepted else { return .refused }
    guard wantsMessage else { return .accepted }
    if let payload { return .answered(payload) }
    strange = "only an acknowledgement"
    return nil
  }

  var answerSoFar: ReceiverAnswer {
    if let payload { return .answered(payload) }
    return strange.map { .otherwise($0) } ?? .unanswered
  }
}
