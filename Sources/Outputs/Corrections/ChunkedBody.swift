/// A body in chunks, each with its size before it (RFC 9112, section 7.1).
struct ChunkedBody {
  private enum Stage {
    case size
    case data(Int)
    /// The line end after a chunk. No other byte is allowed there.
    case end(hasReturn: Bool)
    /// The empty last chunk has been read.
    case over
  }

  private static let largestSize = 1 << 30
  /// The longest line with a chunk's size in bytes, extensions included. Casters send no extension, or one word.
  private static let longestLine = 256

  private var stage = Stage.size
  private var size = 0
  private var lineCount = 0
  private var hasDigits = false
  /// Whether the digits of the size have ended; the rest of the line is ignored.
  private var isBehindDigits = false

  var isOver: Bool {
    if case .over = stage { true } else { false }
  }

  /// Takes received bytes, and passes on the contents of the chunks.
  mutating func take(_ bytes: ArraySlice<UInt8>, _ receive: (ArraySlice<UInt8>) -> Void) throws(CasterError) {
    var rest = bytes
    while let byte = rest.first {
      switch stage {
      case .data(let count):
        let chunk = rest.prefix(count)
        receive(chunk)
        rest = rest.dropFirst(chunk.count)
        stage = chunk.count < count ? .data(count - chunk.count) : .end(hasReturn: false)
      case .over: return
      case .end(let hasReturn):
        rest = rest.dropFirst()
        switch byte {
        case UInt8(ascii: "\r") where !hasReturn: stage = .end(hasReturn: true)
        case UInt8(ascii: "\n"): beginLine()
        default: throw .broken
        }
      case .size:
        rest = rest.dropFirst()
        try takeSize(byte)
      }
    }
  }

  private mutating func beginLine() {
    (stage, size, lineCount) = (.size, 0, 0)
    (hasDigits, isBehindDigits) = (false, false)
  }

  private mutating func takeSize(_ byte: UInt8) throws(CasterError) {
    lineCount += 1
    guard lineCount <= ChunkedBody.longestLine else { throw .broken }
    if byte == UInt8(ascii: "\n") {
      guard hasDigits else { throw .broken }
      stage = size > 0 ? .data(size) : .over
    } else if !isBehindDigits, let digit = Character(Unicode.Scalar(byte)).hexDigitValue {
      size = size * 16 + digit
      hasDigits = true
      guard size <= ChunkedBody.largestSize else { throw .broken }
    } else {
      guard hasDigits else { throw .broken }
      isBehindDigits = true
    }
  }
}
