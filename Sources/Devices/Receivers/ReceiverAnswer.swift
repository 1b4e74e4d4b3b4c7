import NMEA

/// The result of a request.
public enum ReceiverAnswer: Equatable, Sendable {
  case accepted
  /// The receiver has understood the request, and refuses it.
  case refused
  /// The requested value.
  case answered([UInt8])
  /// Only something other than the answer arrived. The text says what, to follow "it answered … with".
  case otherwise(String)
  case unanswered
  /// The reader was told to stop during the request.
  case stopped

  /// Whether the receiver accepted the request, or sent the requested value.
  var isGood: Bool {
    switch self {
    case .accepted, .answered: true
    case .refused, .otherwise, .unanswered, .stopped: false
    }
  }
}

/// A request to a receiver, and how to recognize its answer among everything else that it sends.
protocol ReceiverRequest {
  /// The bytes on the line.
  var bytes: [UInt8] { get }
  /// The subject of the request. Answers to other requests on the same subject look the same.
  var subject: String { get }
  /// Examines received bytes.
  ///
  /// - Returns: the answer once it is complete
  mutating func take(_ frame: ReceiverFramer.Frame) -> ReceiverAnswer?
  /// The result if no more answers are expected.
  var answerSoFar: ReceiverAnswer { get }
}
