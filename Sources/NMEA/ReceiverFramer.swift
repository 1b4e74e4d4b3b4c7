import UBX

/// Finds the sentences and binary messages that a receiver sends: NMEA 0183, Unicore's heading log, UBX, CASIC and RTCM
/// 3 in one stream, in any order, with noise between them.
public struct ReceiverFramer: ~Copyable, Sendable {
  /// A complete sentence or message.
  public enum Frame {
    case sentence(RawSentence)
    case message(BinaryFrame)
  }

  private var binary = BinaryFramer()
  private var text = SentenceFramer()

  public init() {}

  public var sentences: SentenceFramer.Counters { text.counters }
  public var messages: BinaryFramer.Counters { binary.counters }
  /// Whether this receiver has sent a sentence with a checksum. A sentence without one then counts as damaged.
  public var expectsChecksums: Bool { text.expectsChecksums }

  /// Examines the next bytes of the stream.
  ///
  /// - Parameters:
  ///   - readAt: the time at which the bytes were read, in nanoseconds of the caller's clock; frames carry this time
  ///   - receive: called for each frame, in order, before this method returns. A frame points into a buffer and must
  ///     not be kept.
  @inline(__always)
  public mutating func push(
    _ bytes: UnsafeBufferPointer<UInt8>, readAt: Int64 = 0, receive: (Frame) -> Void
  ) {
    binary.push(bytes, readAt: readAt) { piece in
      switch piece {
      case .message(let message): receive(.message(message))
      case .other(let bytes, let readAt, let silence):
        text.push(bytes, readAt: readAt, silence: silence) { receive(.sentence($0)) }
      }
    }
  }

  /// Discards the incomplete frame, because the line was closed or its speed changed.
  public mutating func reset() {
    binary.reset()
    text.reset()
  }
}
