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

/// A command in a sentence, whose answer is recognised by its fields.
struct SentenceRequest: ReceiverRequest {
  /// The meaning of a received sentence for the command.
  enum Reading {
    case nothing
    case answer(ReceiverAnswer)
    /// The answer, unless a better one follows.
    case soFar(ReceiverAnswer)
  }

  let bytes: [UInt8]
  let subject: String
  private let read: @Sendable ([Substring]) -> Reading
  private(set) var answerSoFar = ReceiverAnswer.unanswered

  /// - Parameters:
  ///   - body: the sentence without dollar sign and checksum
  ///   - read: gets the fields of each sentence, the address first
  init(_ body: String, read: @escaping @Sendable ([Substring]) -> Reading) {
    subject = String(body.prefix { $0 != "," })
    bytes = Array(SentenceWriter.make(body).utf8)
    self.read = read
  }

  mutating func take(_ frame: ReceiverFramer.Frame) -> ReceiverAnswer? {
    guard case .sentence(let raw) = frame else { return nil }
    let text = String(decoding: raw.bytes, as: UTF8.self)
    let body = text.dropFirst().prefix { $0 != "*" && $0 != "\r" }
    switch read(body.split(separator: ",", omittingEmptySubsequences: false)) {
    case .nothing: return nil
    case .answer(let answer): return answer
    case .soFar(let answer):
      answerSoFar = answer
      return nil
    }
  }
}

extension SentenceRequest {
  /// A request for a value. The answer is a sentence with the address `address`. Quectel's receivers answer unknown
  /// commands with the command's address and `ERROR`.
  static func question(_ body: String, answeredBy address: String) -> SentenceRequest {
    SentenceRequest(body) { fields in
      guard let first = fields.first, first == address, fields.count > 1 else { return .nothing }
      if fields[1] == "ERROR" { return .answer(.refused) }
      return .answer(.answered(Array(fields.dropFirst().joined(separator: ",").utf8)))
    }
  }
}
