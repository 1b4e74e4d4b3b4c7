import NMEA

/// What became of a request.
public enum ReceiverAnswer: Equatable, Sendable {
  case accepted
  /// The receiver has understood, and does not.
  case refused
  /// What it was asked for.
  case answered([UInt8])
  /// It speaks of something else.
  case otherwise(String)
  case unanswered
  /// The reader was told to stop meanwhile.
  case stopped

  /// Whether the receiver did what it was told, or said what it was asked for.
  var isGood: Bool {
    switch self {
    case .accepted, .answered: true
    case .refused, .otherwise, .unanswered, .stopped: false
    }
  }
}

/// Something that is said to a receiver, and how its answer is told from all else that comes meanwhile.
protocol ReceiverRequest {
  /// As it goes over the line.
  var bytes: [UInt8] { get }
  /// What its answer is told by: that to another request on the same subject looks the same.
  var subject: String { get }
  /// Looks at what has come; returns the answer once that is whole.
  mutating func take(_ frame: ReceiverFramer.Frame) -> ReceiverAnswer?
  /// What it comes to where nothing more is waited for.
  var answerSoFar: ReceiverAnswer { get }
}
