import NMEA

/// What became of a request.
public enum ReceiverAnswer: Equatable, Sendable {
  case accepted
  /// The receiver has understood, and does not.
  case refused
  /// The requested value.
  case answered([UInt8])
  /// It speaks of something else.
  case otherwise(String)
  case unanswered
  /// The reader was told to stop during the request.
  case stopped

  /// Whether the receiver obeyed the command, or sent the requested value.
  var isGood: Bool {
    switch self {
    case .accepted, .answered: true
    case .refused, .otherwise, .unanswered, .stopped: false
    }
  }
}

/// A request to a receiver, and how to recognize its answer among everything else that it sends.
protocol ReceiverRequest {
  /// As it goes over the line.
  var bytes: [UInt8] { get }
  /// What its answer is told by: that to another request on the same subject looks the same.
  var subject: String { get }
  /// Examines the received bytes; returns the answer once it is complete.
  mutating func take(_ frame: ReceiverFramer.Frame) -> ReceiverAnswer?
  /// The result if nothing more is expected.
  var answerSoFar: ReceiverAnswer { get }
}
