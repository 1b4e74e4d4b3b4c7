/// Finds sentences in a stream of bytes. It tolerates binary noise, reads split or merged anywhere, missing line ends,
/// and lines of up to `maximumLength` bytes.
///
/// A sentence is complete at its checksum's second digit, without waiting for the line end. At 9600 baud that is two
/// milliseconds earlier. Complete sentences are passed on in place. Only a sentence that a read divides is copied.
///
/// Unicore's logs begin with `#` and end with a checksum of eight digits. Only logs with information that no sentence
/// has are passed on (`UniHeading` and `UnicoreVersion`). All other logs, and any other `#`, are noise.
///
/// Unicore's answers to commands (`$command`, `$CONFIG`, `$devicename`) include the dollar sign in their checksum.
public struct SentenceFramer: ~Copyable, Sendable {
  /// The numbers of sentences since the framer was created.
  public struct Counters: Equatable, Sendable {
    /// The sentences that were passed on.
    public var sentences = 0
    /// The sentences with a wrong checksum.
    public var badChecksum = 0
    /// The sentences that were cut: by the start of the next sentence, by a control character, or before their
    /// checksum.
    public var truncated = 0
    /// The sentences longer than `maximumLength`.
    public var overlong = 0
  }

  public static let maximumLength = 4096

  public private(set) var counters = Counters()

  private enum State {
    case searching
    case body
    case checksum
    case checksumSecond(UInt8)
    /// In the checksum of a log, after this number of its digits. `value` is the number that they form.
    case longChecksum(digits: Int, value: UInt32)
  }

  private var state = State.searching
  private var checksum: UInt8 = 0
  private var commas = 0
  private var hasHighBit = false
  /// Whether the sentence begins with `#`.
  private var isLog = false
  /// The length of the current sentence, from its first byte.
  private var length = 0
  /// When the first byte of the current sentence was read.
  private var beganAt: Int64 = 0
  /// The silence before the current sentence.
  private var silence: Int64 = 0
  private var lastReadAt: Int64?
  private var silenceBeforeRead: Int64 = 0
  /// The start of a sentence whose rest has not been read yet.
  private var carried: [UInt8] = []
  /// Whether this receiver has sent a checksum. Such a receiver always sends checksums, so a sentence without a
  /// checksum is damaged.
  public private(set) var expectsChecksums = false

  public init() { carried.reserveCapacity(SentenceFramer.maximumLength) }

  /// Examines the next bytes of the stream.
  ///
  /// - Parameters:
  ///   - readAt: when the bytes were read, in nanoseconds of the caller's clock; sentences carry this time
  ///   - silence: the duration without bytes before this read, in nanoseconds; `nil` for the time since the previous
  ///     call
  ///   - receive: called for each sentence, in order, before this method returns. The sentence points into `bytes` or
  ///     into the framer and must not be kept.
  @inline(__always)
  public mutating func push(
    _ bytes: UnsafeBufferPointer<UInt8>, readAt: Int64 = 0, silence: Int64? = nil, receive: (RawSentence) -> Void
  ) {
    guard let base = bytes.baseAddress else { return }
    silenceBeforeRead = silence ?? lastReadAt.map { readAt - $0 } ?? 0
    lastReadAt = readAt
    let count = bytes.count
    var index = 0
    // The start of the current sentence in `bytes`. If `carried` is not empty, the sentence starts in `carried`.
    var start = 0
    while index < count {
      switch state {
      case .searching:
        guard let found = SentenceFramer.sentenceStart(base + index, count - index) else { return }
        index += found
        start = index
        begin(readAt, isLog: base[index] == Byte.hash)
        index += 1

      case .body:
        var sum = checksum
        var separators = commas
        var high: UInt8 = 0
        let from = index
        var byte: UInt8 = 0
        var eight = EightBytes()
        // `EightBytes` counts at most 255 words. The rest of a longer sentence is read byte by byte.
        let lastWord = min(count, index &+ 8 &* 255) &- 8
        while index <= lastWord {
          let taken = eight.take(UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self))
          index &+= taken
          if taken < 8 { break }
        }
        separators &+= eight.commaCount
        high |= eight.highBits
        sum ^= eight.checksum
        while index < count {
          byte = base[index]
          // One comparison handles nearly all bytes, because no byte that ends a sentence is above the comma.
          if byte <= Byte.comma {
            if byte == Byte.comma {
              separators &+= 1
            } else if byte < 0x20 || byte == Byte.star || byte == Byte.dollar || byte == Byte.exclamation {
              break
            }
          }
          sum ^= byte
          high |= byte
          index &+= 1
        }
        length += index - from
        checksum = sum
        commas = separators
        if high >= 0x80 { hasHighBit = true }
        guard length <= SentenceFramer.maximumLength else {
          if !isLog { counters.overlong += 1 }
          abandon()
          continue
        }
        guard index < count else { break }
        switch byte {
        case Byte.star:
          index += 1
          length += 1
          state = isLog ? .longChecksum(digits: 0, value: 0) : .checksum
        case Byte.lineFeed, Byte.carriageReturn:
          if isLog { abandon() } else { deliver(base, start, index, hasChecksum: false, receive) }
          index += 1
        default:
          // A new sentence or noise begins. The first byte of a new sentence is examined again.
          if !isLog { counters.truncated += 1 }
          abandon()
          if byte != Byte.dollar && byte != Byte.exclamation { index += 1 }
        }

      case .checksum:
        if Byte.hexadecimalValue(base[index]) != nil {
          state = .checksumSecond(base[index])
          index += 1
          length += 1
        } else {
          // This star is a character of a text, and does not begin the checksum.
          checksum ^= Byte.star
          state = .body
        }

      case .checksumSecond(let firstDigit):
        if let first = Byte.hexadecimalValue(firstDigit), let second = Byte.hexadecimalValue(base[index]) {
          index += 1
          length += 1
          let stated = first << 4 | second
          if stated == checksum || stated == checksum ^ Byte.dollar && isUnicoreAnswer(base, start, index) {
            expectsChecksums = true
            deliver(base, start, index, hasChecksum: true, receive)
          } else {
            counters.badChecksum += 1
            abandon()
          }
        } else {
          checksum ^= Byte.star ^ firstDigit
          state = .body
        }

      case .longChecksum(let digits, let value):
        guard let digit = Byte.hexadecimalValue(base[index]) else {
          abandon()
          continue
        }
        index += 1
        length += 1
        let sum = value << 4 | UInt32(digit)
        if digits < 7 {
          state = .longChecksum(digits: digits + 1, value: sum)
        } else {
          deliver(base, start, index, longChecksum: sum, receive)
        }
      }
    }
    // Keep an incomplete sentence until the next read.
    if case .searching = state { return }
    let from = carried.isEmpty ? start : 0
    carried.append(contentsOf: UnsafeBufferPointer(start: base + from, count: count - from))
  }

  /// Forgets an incomplete sentence, because the line was closed or its speed changed.
  public mutating func reset() { abandon() }

  private mutating func begin(_ readAt: Int64, isLog: Bool) {
    state = .body
    self.isLog = isLog
    beganAt = readAt
    silence = silenceBeforeRead
    silenceBeforeRead = 0
    checksum = 0
    commas = 0
    hasHighBit = false
    length = 1
  }

  private mutating func abandon() {
    state = .searching
    carried.removeAll(keepingCapacity: true)
  }

  @inline(__always)
  private mutating func deliver(
    _ base: UnsafePointer<UInt8>, _ start: Int, _ end: Int, hasChecksum: Bool = true, longChecksum: UInt32? = nil,
    _ receive: (RawSentence) -> Void
  ) {
    defer { abandon() }
    let fields = commas
    if carried.isEmpty {
      let sentence = RawSentence(
        bytes: UnsafeBufferPointer(start: base + start, count: end - start), fieldCount: fields,
        hasChecksum: hasChecksum, beganAt: beganAt, silence: silence)
      if accept(sentence, longChecksum) { receive(sentence) }
    } else {
      carried.append(contentsOf: UnsafeBufferPointer(start: base, count: end))
      // The closure cannot reach the framer during this mutation, so the storage does not move.
      carried.withUnsafeBufferPointer { whole in
        let sentence = RawSentence(
          bytes: whole, fieldCount: fields, hasChecksum: hasChecksum, beganAt: beganAt, silence: silence)
        if accept(sentence, longChecksum) { receive(sentence) }
      }
    }
  }

  @inline(__always)
  private mutating func accept(_ sentence: RawSentence, _ longChecksum: UInt32?) -> Bool {
    if let longChecksum { return accept(log: sentence, longChecksum) }
    let isWhole =
      sentence.hasChecksum
      || (!hasHighBit && (!expectsChecksums || sentence.isDiagnostic) && !sentence.hasTornChecksum)
    guard isWhole, sentence.address.count >= 3 else {
      counters.truncated += 1
      return false
    }
    counters.sentences += 1
    return true
  }

  /// The beginnings of Unicore's answers to commands, which include the dollar sign in their checksum.
  private static let unicoreAnswers: [StaticString] = ["$command,", "$CONFIG,", "$devicename,"]

  /// Whether the current sentence, which ends before `base + end`, is one of Unicore's answers. Only called for
  /// sentences whose checksum would otherwise be wrong.
  private func isUnicoreAnswer(_ base: UnsafePointer<UInt8>, _ start: Int, _ end: Int) -> Bool {
    let first = carried.isEmpty ? start : 0
    let count = carried.count + end - first
    return SentenceFramer.unicoreAnswers.contains { answer in
      answer.utf8CodeUnitCount <= count
        && (0..<answer.utf8CodeUnitCount).allSatisfy { index in
          let byte = index < carried.count ? carried[index] : base[first + index - carried.count]
          return byte == answer.utf8Start[index]
        }
    }
  }

  private mutating func accept(log: RawSentence, _ checksum: UInt32) -> Bool {
    guard log.address.spells(UniHeading.address) || log.address.spells(UnicoreVersion.address) else { return false }
    guard log.longChecksum == checksum else {
      counters.badChecksum += 1
      return false
    }
    counters.sentences += 1
    return true
  }

  @inline(__always)
  private static func sentenceStart(_ base: UnsafePointer<UInt8>, _ count: Int) -> Int? {
    var index = 0
    while index < count {
      let byte = base[index]
      if byte == Byte.dollar || byte == Byte.exclamation || byte == Byte.hash { return index }
      index += 1
    }
    return nil
  }
}

/// A framed sentence: its bytes as received, from `$`, `!` or `#` to the checksum, without the line end.
///
/// The sentence points into a buffer of the framer or of the framer's caller, and is valid only inside the call that
/// passes it.
public struct RawSentence {
  public let bytes: UnsafeBufferPointer<UInt8>
  /// The number of fields after the address.
  public let fieldCount: Int
  public let hasChecksum: Bool
  /// When the sentence's first byte was read, in nanoseconds of the caller's clock.
  public let beganAt: Int64
  /// The duration without bytes before the sentence, in nanoseconds; 0 for the first sentence of the stream, and for
  /// all but the first sentence of a read.
  public let silence: Int64

  @inline(__always)
  init(bytes: UnsafeBufferPointer<UInt8>, fieldCount: Int, hasChecksum: Bool, beganAt: Int64, silence: Int64) {
    self.bytes = bytes
    self.fieldCount = fieldCount
    self.hasChecksum = hasChecksum
    self.beganAt = beganAt
    self.silence = silence
  }

  /// The address, for example `GPGGA` or `PUBX`.
  @inline(__always)
  public var address: UnsafeBufferPointer<UInt8> {
    var end = 1
    while end < bytes.count, bytes[end] != Byte.comma, bytes[end] != Byte.star { end += 1 }
    return UnsafeBufferPointer(rebasing: bytes[1..<end])
  }

  /// The fields after the address and its comma, without the checksum.
  @inline(__always)
  func body(addressLength: Int) -> UnsafeBufferPointer<UInt8> {
    let start = min(1 + addressLength + 1, bytes.count)
    let end = max(start, hasChecksum ? bytes.count - (isLog ? RawSentence.longTail : 3) : bytes.count)
    return UnsafeBufferPointer(rebasing: bytes[start..<end])
  }

  /// Whether the sentence is one of Unicore's logs.
  var isLog: Bool { bytes[0] == Byte.hash }

  /// The length of the star and the eight digits of the checksum at the end of one of Unicore's logs.
  private static let longTail = 9

  /// The checksum of a log: the CRC-32 of everything between `#` and `*`. It begins with 0 and is not inverted at the
  /// end.
  fileprivate var longChecksum: UInt32 {
    var remainder: UInt32 = 0
    for byte in bytes[1..<max(1, bytes.count - RawSentence.longTail)] {
      remainder ^= UInt32(byte)
      for _ in 0..<8 { remainder = remainder >> 1 ^ (remainder & 1 == 1 ? 0xEDB8_8320 : 0) }
    }
    return remainder
  }

  /// Whether the sentence is an answer of one of Unicore's receivers to a command, and no report: `$command`, `$CONFIG`,
  /// `$devicename` or the log VERSIONA.
  public var isUnicoreAnswer: Bool {
    let address = address
    if isLog { return address.spells(UnicoreVersion.address) }
    return address.spells("command") || address.spells("CONFIG") || address.spells("devicename")
  }

  /// Whether the address is two letters for the talker and three for the type. A manufacturer's own address begins with
  /// a P, except for Quectel's talker PQ, so `PGRMC` is not an RMC.
  @inline(__always)
  var isStandard: Bool {
    let address = address
    return bytes[0] == Byte.dollar && address.count == 5
      && (address[0] != Byte.P || address[1] == UInt8(ascii: "Q"))
  }

  /// Whether the sentence ends with a star, or with a star and a single digit, because the rest was lost.
  fileprivate var hasTornChecksum: Bool {
    guard !hasChecksum, let last = bytes.last else { return false }
    if last == Byte.star { return true }
    return bytes.count >= 2 && bytes[bytes.count - 2] == Byte.star && Byte.hexadecimalValue(last) != nil
  }

  /// Whether the sentence is Skytraq's STI, the only one that never has a checksum.
  var isDiagnostic: Bool { address.spells("STI") }
}
