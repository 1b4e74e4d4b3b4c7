/// Where a stream of bytes to a receiver ends: between two messages, or in the middle of a binary one.
///
/// If a message is cut off, the receiver treats the bytes after it as the rest of the message, so the hub's next
/// command would be lost. `filler` ends the message with a wrong checksum, and the receiver ignores it. Sentences need
/// no filler: each `$` begins a new one.
struct HalfMessage {
  /// The maximum length of the filler. No message that a receiver takes is longer.
  static let longestFiller = 2048

  /// The meaning of the first bytes of a message.
  private enum Head {
    case noMessage, incomplete
    /// The number of bytes that follow the head.
    case rest(Int)
  }

  /// The head of a message whose length is not known yet.
  private var head: [UInt8] = []
  /// The number of bytes until the end of a message whose length is known.
  private var missing = 0

  /// Records bytes that were sent.
  mutating func take(_ bytes: ArraySlice<UInt8>) {
    var bytes = bytes
    while !bytes.isEmpty {
      let count = min(missing, bytes.count)
      missing -= count
      bytes = bytes.dropFirst(count)
      if let byte = bytes.popFirst() { begin(with: byte) }
    }
  }

  /// The bytes that end the message; empty between two messages.
  var filler: [UInt8] {
    var (filler, end) = ([UInt8](), self)
    while end.missing > 0 || !end.head.isEmpty, filler.count < HalfMessage.longestFiller {
      // The zeros state a length of zero if the length is not known yet. The bytes 0xFF fill the rest, and make the
      // checksum wrong.
      filler.append(end.missing > 0 ? 0xFF : 0)
      end.take(filler.suffix(1))
    }
    return filler
  }

  private mutating func begin(with byte: UInt8) {
    head.append(byte)
    switch HalfMessage.read(head) {
    case .incomplete: break
    case .rest(let count): (head, missing) = ([], count)
    case .noMessage:
      // The byte may begin a message.
      let isFirst = head.count == 1
      head = []
      if !isFirst { begin(with: byte) }
    }
  }

  /// Reads the head of a message of UBX, CASIC or RTCM 3.
  private static func read(_ head: [UInt8]) -> Head {
    guard head.count > 1 else { return [0xB5, 0xBA, 0xD3].contains(head[0]) ? .incomplete : .noMessage }
    switch (head[0], head[1]) {
    case (0xB5, 0x62): return head.count < 6 ? .incomplete : .rest(Int(head[4]) + Int(head[5]) << 8 + 2)
    case (0xBA, 0xCE): return head.count < 4 ? .incomplete : .rest(Int(head[2]) + Int(head[3]) << 8 + 6)
    case (0xD3, 0...3): return head.count < 3 ? .incomplete : .rest(Int(head[1]) << 8 + Int(head[2]) + 3)
    default: return .noMessage
    }
  }
}
