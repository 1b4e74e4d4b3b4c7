import UBX

/// Identifies a kind of message in any protocol.
struct MessageCode: Equatable, Sendable {
  private let value: UInt32

  @inline(__always)
  init(_ talker: Talker, _ kind: Sentence.Kind) {
    value = UInt32(talker.code) << 8 | UInt32(kind.rawValue)
  }

  init(_ message: borrowing BinaryFrame) {
    value = 1 << 31 | UInt32(message.format.rawValue) << 24 | UInt32(message.kind)
  }
}
