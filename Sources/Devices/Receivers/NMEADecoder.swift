import MonotonicTime
import NMEA

/// Turns what a receiver sends into observations: frames the sentences, assembles the epochs and dates both. Knows no port and
/// no clock, so that what was recorded goes the same way as what is read.
public struct NMEADecoder: ~Copyable, Sendable {
  /// What has been read.
  public struct Counters: Equatable, Sendable {
    public var sentences = 0
    public var badChecksum = 0
    public var truncated = 0
    public var unknown = 0
    public var epochs = 0

    public init() {}

    public static func + (a: Counters, b: Counters) -> Counters {
      var sum = a
      sum.sentences += b.sentences
      sum.badChecksum += b.badChecksum
      sum.truncated += b.truncated
      sum.unknown += b.unknown
      sum.epochs += b.epochs
      return sum
    }
  }

  private var framer = SentenceFramer()
  private var assembler = EpochAssembler(promptness: .learned)
  private var lines = SentenceLines()
  private var dates = EpochDates()
  private var lastReadAt = MonotonicInstant(nanoseconds: 0)
  /// As of the last bytes, or of the silence after them.
  public private(set) var counters = Counters()

  public init() {}

  /// How long nothing must come for the present epoch to be over; `nil` where none has begun.
  public var silenceThatEnds: Duration? { assembler.silenceThatEnds.map { .nanoseconds($0) } }

  /// Whether all sentences of this receiver have a checksum.
  var expectsChecksums: Bool { framer.expectsChecksums }

  /// Sentences whose kind is known, so far.
  var knownCount: Int { framer.counters.sentences - counters.unknown }

  /// Forgets a sentence that has begun, because the line was closed or its speed changed.
  mutating func reset() { framer.reset() }

  /// Takes what has been read.
  ///
  /// - Parameters:
  ///   - forward: gets the whole sentences as they came, after the epochs that they end
  public mutating func take(
    _ bytes: UnsafeBufferPointer<UInt8>, readAt: MonotonicInstant, forward: ((ReceivedSentences) -> Void)? = nil,
    receive: (borrowing GNSSObservation) -> Void
  ) {
    lastReadAt = readAt
    var unknown = 0
    framer.push(bytes, readAt: readAt.nanoseconds) { raw in
      if case .unknown = assembler.consume(raw, receive: { receive(dates.date($0, receivedAt: readAt)) }) {
        unknown += 1
      }
      if let forward { lines.append(raw, readAt, forward) }
    }
    if let forward { lines.flush(readAt, forward) }
    counters.sentences = framer.counters.sentences
    counters.badChecksum = framer.counters.badChecksum
    counters.truncated = framer.counters.truncated
    counters.unknown += unknown
    counters.epochs = assembler.epochCount
  }

  /// When the present epoch is over unless something comes; `nil` where none has begun.
  public var silenceEndsAt: MonotonicInstant? { silenceThatEnds.map { lastReadAt + $0 } }

  /// Nothing has come until an instant, for as long as ends an epoch.
  public mutating func endEpoch(at instant: MonotonicInstant, _ receive: (borrowing GNSSObservation) -> Void) {
    assembler.finish { receive(dates.date($0, receivedAt: instant)) }
    counters.epochs = assembler.epochCount
  }
}

/// Sentences of one read that began at the same instant.
private struct SentenceLines {
  private var bytes: [UInt8] = []
  private var beganAt: Int64 = 0

  mutating func append(_ raw: RawSentence, _ readAt: MonotonicInstant, _ forward: (ReceivedSentences) -> Void) {
    if raw.beganAt != beganAt { flush(readAt, forward) }
    beganAt = raw.beganAt
    bytes += raw.bytes
    bytes += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
  }

  mutating func flush(_ readAt: MonotonicInstant, _ forward: (ReceivedSentences) -> Void) {
    guard !bytes.isEmpty else { return }
    forward(ReceivedSentences(bytes: bytes, beganAt: MonotonicInstant(nanoseconds: beganAt), readAt: readAt))
    bytes.removeAll(keepingCapacity: true)
  }
}

/// Gives each epoch an instant of its own, also where several come in one read.
private struct EpochDates {
  private var last: MonotonicInstant?

  mutating func date(_ epoch: borrowing GNSSEpoch, receivedAt: MonotonicInstant) -> GNSSObservation {
    var at = MonotonicInstant(nanoseconds: epoch.beganAt)
    if let last { at = max(at, last + .nanoseconds(1)) }
    last = at
    return GNSSObservation(
      at: at, receivedAt: receivedAt, fix: epoch.fix, sky: epoch.sky.satellites,
      errorStatistics: epoch.errorStatistics)
  }
}
