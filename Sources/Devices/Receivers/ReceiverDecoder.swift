import MonotonicTime
import NMEA
import UBX

/// Converts a receiver's bytes to observations. The decoder finds the sentences and messages, assembles the epochs,
/// and gives them timestamps. It uses no port and no clock, so it processes recorded bytes like live bytes.
public struct ReceiverDecoder: ~Copyable, Sendable {
  /// Counts of everything that was read.
  public struct Counters: Equatable, Sendable {
    /// All bytes, meaningful or not.
    public var bytes = 0
    public var sentences = 0
    /// The messages of binary protocols.
    public var messages = 0
    public var badChecksum = 0
    public var truncated = 0
    public var unknown = 0
    public var epochs = 0
    /// The failed transfers of a receiver on a bus.
    public var busErrors = 0
    /// The impossible values that the decoder has left out.
    public var refused = RefusedValues()

    public init() {}

    public static func + (a: Counters, b: Counters) -> Counters {
      var sum = a
      sum.bytes += b.bytes
      sum.sentences += b.sentences
      sum.messages += b.messages
      sum.badChecksum += b.badChecksum
      sum.truncated += b.truncated
      sum.unknown += b.unknown
      sum.epochs += b.epochs
      sum.busErrors += b.busErrors
      sum.refused = a.refused + b.refused
      return sum
    }
  }

  private var framer = ReceiverFramer()
  private var assembler = EpochAssembler(promptness: .learned)
  private var lines = SentenceLines()
  private var dates = EpochDates()
  private var frozen = FrozenOutputDetector()
  private var lastReadAt = MonotonicInstant(nanoseconds: 0)
  /// The receiver's identity, as far as its output shows it.
  public private(set) var speech = ReceiverIdentity.Speech()
  /// The receiver's reports about corrections since the last call of `takeOutcomes`.
  private var outcomes = CorrectionOutcomes()
  /// The counts at the last read, or at the end of the silence after it.
  public private(set) var counters = Counters()

  public init() {}

  /// The silence that ends the present epoch; `nil` if no epoch has begun.
  public var silenceThatEnds: Duration? { assembler.silenceThatEnds.map { .nanoseconds($0) } }

  /// Whether this receiver has sent a sentence with a checksum. A sentence without one then counts as damaged.
  var expectsChecksums: Bool { framer.expectsChecksums }

  /// The number of sentences and messages of known kinds so far.
  var knownCount: Int { framer.sentences.sentences + framer.messages.messages - counters.unknown }

  /// The way in which the receiver has hung; `nil` if it has not.
  var fault: FrozenOutputDetector.Fault? { frozen.fault }

  /// The state of the detection of a frozen receiver.
  var suspicion: FrozenOutputDetector { frozen }

  /// Continues the detection of a frozen receiver from the state of an earlier decoder of the same receiver.
  mutating func resume(_ suspicion: FrozenOutputDetector) { frozen = suspicion.resumed }

  /// Forgets an incomplete sentence or message, because the line was closed or its speed changed.
  mutating func reset() { framer.reset() }

  /// The receiver's reports about corrections since the last call; `nil` if there are none.
  mutating func takeOutcomes() -> CorrectionOutcomes? {
    guard !outcomes.isEmpty else { return nil }
    defer { outcomes = CorrectionOutcomes() }
    return outcomes
  }

  /// Decodes bytes that were read.
  ///
  /// - Parameters:
  ///   - beganAt: when the first of the bytes was read; `nil` for `readAt`
  ///   - readAt: when the last of the bytes was read; a silence begins at this time
  ///   - forward: gets the complete sentences and messages as received, after the epochs that they end
  ///   - inspect: gets each sentence and message, for a caller that awaits an answer; it must not keep a pointer to it
  public mutating func take(
    _ bytes: UnsafeBufferPointer<UInt8>, beganAt: MonotonicInstant? = nil, readAt: MonotonicInstant,
    forward: ((ReceivedBytes) -> Void)? = nil, inspect: ((ReceiverFramer.Frame) -> Void)? = nil,
    receive: (borrowing GNSSObservation) -> Void
  ) {
    lastReadAt = readAt
    var unknown = 0
    let frames = counters.sentences + counters.messages
    framer.push(bytes, readAt: (beganAt ?? readAt).nanoseconds) { frame in
      if case .message(let message) = frame {
        speech.take(message)
        if let report = CorrectionReport(message) { outcomes.note(report) }
      }
      let outcome =
        switch frame {
        case .sentence(let raw):
          assembler.consume(raw, receive: { receive(dates.date($0, receivedAt: readAt, &frozen, frames)) })
        case .message(let message):
          assembler.consume(message, receive: { receive(dates.date($0, receivedAt: readAt, &frozen, frames)) })
        }
      if case .unknown = outcome { unknown += 1 }
      if let forward { lines.append(frame, readAt, forward) }
      inspect?(frame)
    }
    if let forward { lines.flush(readAt, forward) }
    counters.bytes += bytes.count
    counters.sentences = framer.sentences.sentences
    counters.messages = framer.messages.messages
    counters.badChecksum = framer.sentences.badChecksum + framer.messages.badChecksum
    counters.truncated = framer.sentences.truncated
    counters.unknown += unknown
    counters.epochs = assembler.epochCount
    counters.refused = assembler.refused
    frozen.look(at: readAt, frames: counters.sentences + counters.messages)
  }

  /// When the present epoch will end if nothing more arrives; `nil` if no epoch has begun.
  public var silenceEndsAt: MonotonicInstant? { silenceThatEnds.map { lastReadAt + $0 } }

  /// Ends the present epoch, because the silence has been long enough.
  public mutating func endEpoch(at instant: MonotonicInstant, _ receive: (borrowing GNSSObservation) -> Void) {
    let frames = counters.sentences + counters.messages
    assembler.finish { receive(dates.date($0, receivedAt: instant, &frozen, frames)) }
    counters.epochs = assembler.epochCount
  }
}

/// The sentences, or messages, of one read that began at the same instant. Unicore's answers to the hub's commands are
/// left out, because their checksums are wrong to other programs.
private struct SentenceLines {
  private var bytes: [UInt8] = []
  private var isBinary = false
  private var beganAt: Int64 = 0

  mutating func append(
    _ frame: ReceiverFramer.Frame, _ readAt: MonotonicInstant, _ forward: (ReceivedBytes) -> Void
  ) {
    switch frame {
    case .sentence(let raw):
      if raw.isUnicoreAnswer { return }
      begin(raw.beganAt, isBinary: false, readAt, forward)
      bytes += raw.bytes
      bytes += [UInt8(ascii: "\r"), UInt8(ascii: "\n")]
    case .message(let message):
      begin(message.beganAt, isBinary: true, readAt, forward)
      bytes += message.bytes
    }
  }

  private mutating func begin(
    _ beganAt: Int64, isBinary: Bool, _ readAt: MonotonicInstant, _ forward: (ReceivedBytes) -> Void
  ) {
    if beganAt != self.beganAt || isBinary != self.isBinary { flush(readAt, forward) }
    self.beganAt = beganAt
    self.isBinary = isBinary
  }

  mutating func flush(_ readAt: MonotonicInstant, _ forward: (ReceivedBytes) -> Void) {
    guard !bytes.isEmpty else { return }
    forward(
      ReceivedBytes(
        bytes: bytes, isBinary: isBinary, beganAt: MonotonicInstant(nanoseconds: beganAt), readAt: readAt))
    bytes.removeAll(keepingCapacity: true)
  }
}

/// Gives each epoch a unique timestamp, even if several epochs arrive in one read, and removes the fix of an epoch in
/// which the receiver is frozen.
private struct EpochDates {
  private var last: MonotonicInstant?

  mutating func date(
    _ epoch: borrowing GNSSEpoch, receivedAt: MonotonicInstant, _ frozen: inout FrozenOutputDetector, _ frames: Int
  ) -> GNSSObservation {
    var at = MonotonicInstant(nanoseconds: epoch.beganAt)
    if let last { at = max(at, last + .nanoseconds(1)) }
    last = at
    var observation = GNSSObservation(
      at: at, receivedAt: receivedAt, fix: epoch.fix, sky: epoch.sky.satellites,
      errorStatistics: epoch.errorStatistics)
    if !frozen.take(observation, frames: frames) {
      observation.isFrozen = true
      observation.fix = GNSSFix()
      observation.fix.mode = .noFix
      observation.fix.interference = epoch.fix.interference
      observation.errorStatistics = nil
    }
    return observation
  }
}

extension ReceiverIdentity.Speech {
  /// In UBX and CASIC, messages of class 1 are about navigation.
  fileprivate mutating func take(_ message: BinaryFrame) {
    switch message.format {
    case .ubx: driver = .ublox
    case .casic: driver = .casic
    case .rtcm3: return
    }
    if message.kind >> 8 == 1 { reportsInMessages = true }
  }
}

/// An epoch and the time at which it reached this machine.
public struct GNSSObservation: Sendable {
  /// When the epoch's first byte was read.
  public var at: MonotonicInstant
  /// When the epoch was complete: when its last byte was read, or when the silence after it was long enough.
  public var receivedAt: MonotonicInstant
  public var fix: GNSSFix
  /// The satellites; empty unless a complete list arrived with the epoch.
  public var sky: [Satellite]
  public var errorStatistics: GNSSErrorStatistics?
  /// Whether the receiver has shown that its date and time come from satellites. Until then, it may have remembered or
  /// guessed them.
  public var isTimeConfirmed = false
  /// Whether the receiver has hung and repeats itself. If it has, `fix` has no position.
  public var isFrozen = false

  /// - Parameter receivedAt: when the epoch was complete; `nil` if its first byte completed it
  public init(
    at: MonotonicInstant, receivedAt: MonotonicInstant? = nil, fix: GNSSFix, sky: [Satellite],
    errorStatistics: GNSSErrorStatistics? = nil
  ) {
    self.at = at
    self.receivedAt = receivedAt ?? at
    self.fix = fix
    self.sky = sky
    self.errorStatistics = errorStatistics
  }
}

/// Complete sentences of a receiver as received, each with its line end, or complete messages of a binary protocol.
public struct ReceivedBytes: Sendable {
  public var bytes: [UInt8]
  /// Whether `bytes` are messages of a binary protocol, and not text.
  public var isBinary: Bool
  /// When the first byte of each sentence or message was read. All of them began in the same read; the rest of the
  /// last one may have been read later.
  public var beganAt: MonotonicInstant
  /// When the last sentence or message was complete.
  public var readAt: MonotonicInstant

  public init(bytes: [UInt8], isBinary: Bool = false, beganAt: MonotonicInstant, readAt: MonotonicInstant) {
    self.bytes = bytes
    self.isBinary = isBinary
    self.beganAt = beganAt
    self.readAt = readAt
  }
}
