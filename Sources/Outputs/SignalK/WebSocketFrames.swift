/// The frames of a WebSocket's client (RFC 6455, section 5).
enum WebSocketFrame {
  enum Kind: UInt8 {
    case continuation = 0
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    var isControl: Bool { rawValue >= Kind.close.rawValue }
  }

  /// The status of a close frame whose sender leaves (RFC 6455, section 7.4.1).
  static let goingAway: [UInt8] = [0x03, 0xE9]

  /// A whole message in one frame.
  ///
  /// - Parameter mask: the mask by which a client must hide its bytes from intermediaries
  static func encode(
    _ kind: Kind, _ payload: [UInt8], mask: UInt32 = .random(in: .min ... .max)
  ) -> [UInt8] {
    let count = payload.count
    var frame: [UInt8] = [0x80 | kind.rawValue]
    switch count {
    case ..<126: frame.append(0x80 | UInt8(count))
    case ..<65_536: frame += [0xFE, UInt8(count >> 8), UInt8(count & 0xFF)]
    default:
      frame.append(0xFF)
      for shift in stride(from: 56, through: 0, by: -8) { frame.append(UInt8(truncatingIfNeeded: count >> shift)) }
    }
    let masks = stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: mask >> UInt32($0)) }
    frame += masks
    for (index, byte) in payload.enumerated() { frame.append(byte ^ masks[index & 3]) }
    return frame
  }
}

/// A server's frames, parsed as their bytes arrive. The content of messages is dropped, because the hub subscribes to
/// nothing. Only the content of control frames is kept, at most 125 bytes.
struct WebSocketReader {
  enum Event: Equatable {
    case ping([UInt8])
    /// The server ends the connection. The status is `nil` if it gives none.
    case close(UInt16?)
  }

  /// The server breaks the protocol.
  struct Broken: Error, Equatable {}

  private static let longestControl = 125

  private var header: [UInt8] = []
  private var kind: WebSocketFrame.Kind?
  /// The number of bytes of the present frame that have not arrived.
  private var leftCount: UInt64 = 0
  private var control: [UInt8] = []

  mutating func take(_ bytes: ArraySlice<UInt8>) throws(Broken) -> [Event] {
    var events: [Event] = []
    var rest = bytes
    while let byte = rest.first {
      if let kind {
        let part = rest.prefix(Int(clamping: leftCount))
        if kind.isControl { control += part }
        rest = rest.dropFirst(part.count)
        leftCount -= UInt64(part.count)
      } else {
        rest = rest.dropFirst()
        header.append(byte)
        try takeHeader()
      }
      if kind != nil, leftCount == 0, let event = finish() { events.append(event) }
    }
    return events
  }

  private mutating func takeHeader() throws(Broken) {
    guard header.count >= 2 else { return }
    // A server must not mask its frames, and the hub has agreed on no extension, so all of these bits must be 0.
    guard header[0] & 0x70 == 0, header[1] & 0x80 == 0, let kind = WebSocketFrame.Kind(rawValue: header[0] & 0x0F)
    else {
      throw Broken()
    }
    let short = header[1] & 0x7F
    let sizeCount = short == 126 ? 2 : short == 127 ? 8 : 0
    if kind.isControl, header[0] & 0x80 == 0 || short > WebSocketReader.longestControl { throw Broken() }
    guard header.count == 2 + sizeCount else { return }
    leftCount = sizeCount == 0 ? UInt64(short) : header[2...].reduce(0) { $0 << 8 | UInt64($1) }
    if leftCount > UInt64(Int64.max) { throw Broken() }
    self.kind = kind
  }

  private mutating func finish() -> Event? {
    defer {
      kind = nil
      header = []
      control = []
    }
    switch kind {
    case .ping: return .ping(control)
    case .close: return .close(control.count >= 2 ? UInt16(control[0]) << 8 | UInt16(control[1]) : nil)
    default: return nil
    }
  }
}
