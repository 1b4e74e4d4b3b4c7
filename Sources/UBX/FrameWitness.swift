/// Searches for a complete frame inside an apparent long message. A message or a sentence with a correct checksum
/// proves that the length of the long message is wrong, because of a bit error or noise.
///
/// The search finds only short frames. It examines each byte once, except for those after the start of an incomplete
/// short frame, which it examines again with each read.
struct FrameWitness: Sendable {
  /// The maximum length of a frame that counts as a proof, in bytes: about three tenths of a second at 9600 baud.
  static let longest = 272

  /// No complete frame begins before this position.
  private var resolved = 0

  mutating func removeFirst(_ count: Int) { resolved = max(0, resolved - count) }

  /// Whether a complete frame of at most `longest` bytes begins after position `lower` and ends at `upper` or earlier.
  mutating func isFound(in bytes: UnsafeBufferPointer<UInt8>, behind lower: Int, before upper: Int) -> Bool {
    var index = max(resolved, lower + 1)
    let end = min(bytes.count, upper)
    var firstOpen: Int?
    while index < end {
      switch FrameWitness.end(of: bytes, at: index) {
      case .none: break
      case .open: firstOpen = firstOpen ?? index
      case .whole(let end):
        firstOpen = firstOpen ?? index
        if end <= upper {
          resolved = firstOpen ?? index
          return true
        }
      }
      index += 1
    }
    resolved = firstOpen ?? max(resolved, index)
    return false
  }

  private enum Reading {
    case none
    /// More bytes are needed to decide.
    case open
    case whole(end: Int)
  }

  @inline(__always)
  private static func end(of bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Reading {
    switch bytes[index] {
    case 0xB5, 0xBA, 0xD3: message(bytes, index)
    case UInt8(ascii: "$"), UInt8(ascii: "!"): sentence(bytes, index)
    default: .none
    }
  }

  private static func message(_ bytes: UnsafeBufferPointer<UInt8>, _ index: Int) -> Reading {
    let rest = UnsafeBufferPointer(rebasing: bytes[index...])
    switch BinaryFrameHead.read(rest) {
    case .none: return .none
    case .incomplete: return .open
    case .head(let head):
      guard head.byteCount <= longest else { return .none }
      guard rest.count >= head.byteCount else { return .open }
      return head.isWhole(UnsafeBufferPointer(rebasing: rest[..<head.byteCount]))
        ? .whole(end: index + head.byteCount) : .none
    }
  }

  /// Searches for a sentence: an address of at least four letters and digits, fields, and a correct checksum. A
  /// checksum of eight bits alone would often match by chance.
  private static func sentence(_ bytes: UnsafeBufferPointer<UInt8>, _ start: Int) -> Reading {
    var sum: UInt8 = 0
    var addressLength: Int?
    let end = min(bytes.count, start + longest - 2)
    var index = start + 1
    while index < end {
      let byte = bytes[index]
      switch byte {
      case UInt8(ascii: "*"):
        guard addressLength.map({ $0 >= 4 }) ?? false else { return .none }
        guard index + 2 < bytes.count else { return .open }
        guard let high = digit(bytes[index + 1]), let low = digit(bytes[index + 2]) else { return .none }
        return high << 4 | low == sum ? .whole(end: index + 3) : .none
      case UInt8(ascii: ","): addressLength = addressLength ?? index - start - 1
      case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"): break
      case 0x20...0x7E where addressLength != nil && byte != UInt8(ascii: "$") && byte != UInt8(ascii: "!"): break
      default: return .none
      }
      sum ^= byte
      index += 1
    }
    return end == bytes.count ? .open : .none
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    default: nil
    }
  }
}
