import NMEA

/// The result of a request.
public enum ReceiverAnswer: Equatable, Sendable {
  case accepted
  /// The receiver has understood the request, and has refused it.
  case refused
  /// The requested value.
  case answered([UInt8])
  /// Only other data arrived. The text names the data.
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
  /// The subject of the request. Answers to other requests with the same subject look the same.
  var subject: String { get }
  /// Examines received bytes.
  ///
  /// - Returns: the answer once it is complete
  mutating func take(_ frame: ReceiverFramer.Frame) -> ReceiverAnswer?
  /// The result if no further answer arrives.
  var answerSoFar: ReceiverAnswer { get }
}
