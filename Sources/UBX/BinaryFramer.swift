/// Finds the messages of binary protocols in a receiver's stream, and passes on the bytes between them.
///
/// A message is valid only if its checksum is right. Until the checksum has arrived, the first byte may be noise. If
/// the checksum is wrong, the search continues after that first byte, so that no later message is lost.
///
/// A bit error in a length may claim kilobytes, but the later bytes are not delayed for long: the possible lengths of
/// the common kinds are known (`MessageLength`), and a complete frame inside a long message proves that the claim is
/// wrong (`FrameWitness`).
///
/// Complete messages are passed on in place. Only a message that a read divides is copied.
public struct BinaryFramer: ~Copyable, Sendable {
  /// The numbers of messages that the framer has found since it was created.
  public struct Counters: Equatable, Sendable {
    /// The messages that were passed on.
    public var messages = 0
    /// The apparent messages that have a wrong checksum or contain a complete frame.
    public var badChecksum = 0
  }

  /// The pieces of a stream.
  public enum Piece {
    case message(BinaryFrame)
    /// Sentences or noise of one read, the time of that read, and the duration without bytes before it, both in
    /// nanoseconds.
    case other(UnsafeBufferPointer<UInt8>, readAt: Int64, silence: Int64)
  }

  public private(set) var counters = Counters()

  /// The beginning of a message whose rest has not been read yet.
  private var carried: [UInt8] = []
  /// The length of the incomplete message; 0 while it is unknown.
  private var wantedCount = 0
  private var isDoubtful = false
  private var times = ReadTimes()
  private var witness = FrameWitness()
  /// An empty array whose memory is reused.
  private var spare: [UInt8] = []

  public init() {
    carried.reserveCapacity(2 * BinaryFrameHead.longestFrame)
    spare.reserveCapacity(2 * BinaryFrameHead.longestFrame)
  }

  /// Whether the framer holds the beginning of an incomplete message.
  public var isInside: Bool { !carried.isEmpty }

  /// Examines the next bytes of the stream.
  ///
  /// - Parameters:
  ///   - readAt: the time at which the bytes were read, in nanoseconds of the caller's clock
  ///   - receive: called for each piece, in order, before this method returns. A piece points into a buffer and must
  ///     not be kept.
  @inline(__always)
  public mutating func push(_ bytes: UnsafeBufferPointer<UInt8>, readAt: Int64, receive: (Piece) -> Void) {
    if carried.isEmpty, BinaryFrameHead.firstCandidate(in: bytes, from: 0) == bytes.count {
      if !bytes.isEmpty { receive(.other(bytes, readAt: readAt, silence: times.silence(beforeRead: readAt))) }
      return
    }
    split(bytes, readAt, receive)
  }

  /// Forgets an incomplete message, because the line was closed or its speed changed.
  public mutating func reset() {
    times.removeFirst(carried.count)
    witness.removeFirst(carried.count)
    carried.removeAll(keepingCapacity: true)
  }

  @inline(never)
  private mutating func split(_ bytes: UnsafeBufferPointer<UInt8>, _ readAt: Int64, _ receive: (Piece) -> Void) {
    times.append(bytes.count, readAt: readAt)
    guard !carried.isEmpty else {
      let count = scan(bytes, receive)
      times.removeFirst(count)
      witness.removeFirst(count)
      return
    }
    carried.append(contentsOf: bytes)
    if carried.count < wantedCount, !isContradicted { return }
    // The search begins again at the incomplete message, now with the new bytes.
    var whole: [UInt8] = []
    swap(&whole, &carried)
    swap(&carried, &spare)
    let count = whole.withUnsafeBufferPointer { scan($0, receive) }
    times.removeFirst(count)
    witness.removeFirst(count)
    whole.removeAll(keepingCapacity: true)
    swap(&whole, &spare)
  }

  /// Whether the received part of a long message proves that it is not a message.
  private var isContradicted: Bool {
    mutating get {
      guard isDoubtful else { return false }
      return carried.withUnsafeBufferPointer { witness.isFound(in: $0, behind: 0, before: $0.count) }
    }
  }

  /// Passes on complete pieces, and carries the rest over.
  ///
  /// - Returns: the number of bytes passed on
  private mutating func scan(_ bytes: UnsafeBufferPointer<UInt8>, _ receive: (Piece) -> Void) -> Int {
    // `start` is the first byte not yet passed on. `index` is the position of the search. `cursor` speeds up the search
    // in `times`.
    var start = 0
    var index = 0
    var cursor = 0
    while true {
      index = BinaryFrameHead.firstCandidate(in: bytes, from: index)
      guard index < bytes.count else { break }
      let rest = UnsafeBufferPointer(rebasing: bytes[index...])
      switch BinaryFrameHead.read(rest) {
      case .none: index += 1
      case .incomplete:
        handOn(bytes, start, index, &cursor, receive)
        carry(rest, nil)
        return index
      case .head(let head):
        let isComplete = rest.count >= head.byteCount
        let frame = UnsafeBufferPointer(rebasing: rest[..<min(head.byteCount, rest.count)])
        guard !isComplete || head.isWhole(frame),
          !head.isDoubtful || !witness.isFound(in: bytes, behind: index, before: index + head.byteCount)
        else {
          counters.badChecksum += 1
          index += 1
          continue
        }
        guard isComplete else {
          handOn(bytes, start, index, &cursor, receive)
          carry(rest, head)
          return index
        }
        handOn(bytes, start, index, &cursor, receive)
        counters.messages += 1
        receive(
          .message(
            BinaryFrame(
              head.format, kind: head.kind(of: frame), payload: head.payload, of: frame,
              beganAt: times.stretch(at: index, &cursor).readAt)))
        index += head.byteCount
        start = index
      }
    }
    handOn(bytes, start, bytes.count, &cursor, receive)
    return bytes.count
  }

  private mutating func carry(_ rest: UnsafeBufferPointer<UInt8>, _ head: BinaryFrameHead?) {
    carried.append(contentsOf: rest)
    wantedCount = head?.byteCount ?? 0
    isDoubtful = head?.isDoubtful ?? false
  }

  /// Passes on the bytes between messages, read by read, each with its reading time.
  private func handOn(
    _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int, _ cursor: inout Int, _ receive: (Piece) -> Void
  ) {
    var start = start
    while start < end {
      let stretch = times.stretch(at: start, &cursor)
      let next = max(start + 1, min(stretch.end, end))
      receive(
        .other(
          UnsafeBufferPointer(rebasing: bytes[start..<next]), readAt: stretch.readAt, silence: stretch.silence))
      start = next
    }
  }
}

/// The reading times of the bytes in a buffer, in stretches. Delayed bytes keep the time of their own read.
struct ReadTimes: Sendable {
  private struct Stretch: Sendable {
    /// The index after the last byte of the stretch.
    var end: Int
    var readAt: Int64
  }

  /// The maximum number of stretches, which only a line that is read byte by byte can reach. If there are more
  /// stretches, the oldest are joined in pairs.
  private static let mostStretches = 1024

  private var stretches: [Stretch] = []
  /// The reading time of the byte before the buffer.
  private var before: Int64?

  init() { stretches.reserveCapacity(ReadTimes.mostStretches) }

  /// Returns the duration without bytes before a read that begins the buffer, and records this read as the last one.
  @inline(__always)
  mutating func silence(beforeRead readAt: Int64) -> Int64 {
    let silence = before.map { readAt - $0 } ?? 0
    before = readAt
    return silence
  }

  mutating func append(_ count: Int, readAt: Int64) {
    guard count > 0 else { return }
    if stretches.count == ReadTimes.mostStretches { join() }
    stretches.append(Stretch(end: (stretches.last?.end ?? 0) + count, readAt: readAt))
  }

  private mutating func join() {
    var kept = 0
    for index in stride(from: 0, to: stretches.count, by: 2) {
      // A stretch has the time of its first byte.
      stretches[kept] = Stretch(
        end: stretches[min(index + 1, stretches.count - 1)].end, readAt: stretches[index].readAt)
      kept += 1
    }
    stretches.removeLast(stretches.count - kept)
  }

  mutating func removeFirst(_ count: Int) {
    guard count > 0 else { return }
    var gone = 0
    while gone < stretches.count, stretches[gone].end <= count {
      before = stretches[gone].readAt
      gone += 1
    }
    // If a stretch is removed only in part, the byte before the buffer is from the same read.
    let begins = gone > 0 ? stretches[gone - 1].end : 0
    if gone < stretches.count, begins < count { before = stretches[gone].readAt }
    stretches.removeFirst(gone)
    for index in stretches.indices { stretches[index].end -= count }
  }

  /// The reading time of a byte, the end of the bytes of the same read, and the duration without bytes before it.
  ///
  /// - Parameter cursor: the cursor of the previous search, for an index that was not greater; initially 0
  @inline(__always)
  func stretch(at index: Int, _ cursor: inout Int) -> (readAt: Int64, end: Int, silence: Int64) {
    while cursor < stretches.count - 1, stretches[cursor].end <= index { cursor += 1 }
    guard cursor < stretches.count else { return (before ?? 0, index, 0) }
    let stretch = stretches[cursor]
    let begins = cursor > 0 ? stretches[cursor - 1].end : 0
    let previous = index > begins ? stretch.readAt : cursor > 0 ? stretches[cursor - 1].readAt : before
    return (stretch.readAt, stretch.end, stretch.readAt - (previous ?? stretch.readAt))
  }
}
