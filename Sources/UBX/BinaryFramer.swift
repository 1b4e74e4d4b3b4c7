/// Finds the messages of binary protocols in what a receiver sends, and hands on what lies between them.
///
/// A message counts once its checksum is right. Until then its first byte may be noise: where the checksum is wrong the search
/// goes on behind that byte, and nothing that follows is lost. Whole messages are handed on in place; only one that a read cut in
/// two is copied.
public struct BinaryFramer: ~Copyable, Sendable {
  /// What the framer has seen so far.
  public struct Counters: Equatable, Sendable {
    /// Messages handed on.
    public var messages = 0
    /// What began as a message does, and was none.
    public var badChecksum = 0
  }

  /// What a stream is made of.
  public enum Piece {
    case message(BinaryFrame)
    /// Sentences, or noise.
    case other(UnsafeBufferPointer<UInt8>)
  }

  public private(set) var counters = Counters()

  /// The beginning of a message whose rest has not been read yet.
  private var carried: [UInt8] = []
  private var carriedBeganAt: Int64 = 0
  /// Memory that is used again.
  private var spare: [UInt8] = []

  public init() {
    carried.reserveCapacity(2 * BinaryFrameHead.longestFrame)
    spare.reserveCapacity(2 * BinaryFrameHead.longestFrame)
  }

  /// Whether a message has begun whose end has not been read.
  public var isInside: Bool { !carried.isEmpty }

  /// Takes the next bytes of the stream.
  ///
  /// - Parameters:
  ///   - readAt: when they were read, in nanoseconds of whatever clock the caller has
  ///   - receive: called for each piece, in order, before this method returns. What it points to must not be kept.
  @inline(__always)
  public mutating func push(_ bytes: UnsafeBufferPointer<UInt8>, readAt: Int64, receive: (Piece) -> Void) {
    if carried.isEmpty, BinaryFrameHead.firstCandidate(in: bytes, from: 0) == bytes.count {
      if !bytes.isEmpty { receive(.other(bytes)) }
      return
    }
    split(bytes, readAt, receive)
  }

  /// Forgets a message that has begun, because the line was closed or its speed changed.
  public mutating func reset() { carried.removeAll(keepingCapacity: true) }

  @inline(never)
  private mutating func split(_ bytes: UnsafeBufferPointer<UInt8>, _ readAt: Int64, _ receive: (Piece) -> Void) {
    guard !carried.isEmpty else {
      scan(bytes, readAt, readAt, receive)
      return
    }
    // Once more from where it began, now with what has come.
    var whole: [UInt8] = []
    swap(&whole, &carried)
    swap(&carried, &spare)
    let oldCount = whole.count
    let beganAt = carriedBeganAt
    whole.append(contentsOf: bytes)
    whole.withUnsafeBufferPointer { scan($0, beganAt, readAt, receive, oldCount: oldCount) }
    whole.removeAll(keepingCapacity: true)
    swap(&whole, &spare)
  }

  /// - Parameters:
  ///   - beganAt: when the first `oldCount` bytes were read, the others being read at `readAt`
  private mutating func scan(
    _ bytes: UnsafeBufferPointer<UInt8>, _ beganAt: Int64, _ readAt: Int64, _ receive: (Piece) -> Void,
    oldCount: Int = 0
  ) {
    // What has not been handed on yet, and where the next message is looked for.
    var start = 0
    var index = 0
    while true {
      index = BinaryFrameHead.firstCandidate(in: bytes, from: index)
      guard index < bytes.count else { break }
      let rest = UnsafeBufferPointer(rebasing: bytes[index...])
      switch BinaryFrameHead.read(rest) {
      case .none: index += 1
      case .incomplete:
        handOn(bytes, start, index, receive)
        carried.append(contentsOf: rest)
        carriedBeganAt = index < oldCount ? beganAt : readAt
        return
      case .head(let head):
        guard rest.count >= head.byteCount else {
          handOn(bytes, start, index, receive)
          carried.append(contentsOf: rest)
          carriedBeganAt = index < oldCount ? beganAt : readAt
          return
        }
        let frame = UnsafeBufferPointer(rebasing: rest[..<head.byteCount])
        guard head.isWhole(frame) else {
          counters.badChecksum += 1
          index += 1
          continue
        }
        handOn(bytes, start, index, receive)
        counters.messages += 1
        receive(
          .message(
            BinaryFrame(
              head.format, kind: head.kind(of: frame), payload: head.payload, of: frame,
              beganAt: index < oldCount ? beganAt : readAt)))
        index += head.byteCount
        start = index
      }
    }
    handOn(bytes, start, bytes.count, receive)
  }

  private func handOn(
    _ bytes: UnsafeBufferPointer<UInt8>, _ start: Int, _ end: Int, _ receive: (Piece) -> Void
  ) {
    if start < end { receive(.other(UnsafeBufferPointer(rebasing: bytes[start..<end]))) }
  }
}
