import NMEA

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
  /// A request for a value. The answer is a sentence with the address `address`.
  static func question(_ body: String, answeredBy address: String) -> SentenceRequest {
    SentenceRequest(body) { fields in
      guard let first = fields.first, first == address, fields.count > 1 else { return .nothing }
      return .answer(.answered(Array(fields.dropFirst().joined(separator: ",").utf8)))
    }
  }
}
