/// A caster's answer, parsed as it arrives, in NTRIP 1 (`ICY 200 OK`) and 2 (HTTP/1.1).
struct CasterAnswer {
  enum Body { case corrections, sourceTable }

  private enum Stage { case firstLine, head, body }

  private static let longestLine = 1024
  private static let longestHead = 16 * 1024
  /// The longest address of a redirection in a message, in characters: a host's name, and a mount point.
  private static let longestPlace = 400

  private var stage = Stage.firstLine
  private var line: [UInt8] = []
  private var headCount = 0
  private var status = 0
  private var statusText = ""
  private var location = ""
  private var isTable = false
  private var chunks: ChunkedBody?
  /// The remaining length of the body in bytes, if it is known.
  private var leftCount: Int?
  /// Whether the head is that of HTTP. Everything after such a head is the body.
  private(set) var isHTTP = false

  /// Whether the body has reached its end, which the answer's head or the last chunk states.
  var isOver: Bool { stage == .body && (chunks?.isOver ?? (leftCount == 0)) }

  /// The kind of the body; `nil` until the head is complete.
  var body: Body? { stage == .body ? isTable ? .sourceTable : .corrections : nil }

  /// Parses received bytes, and passes on the bytes of the body.
  mutating func take(_ bytes: ArraySlice<UInt8>, _ receive: (ArraySlice<UInt8>) -> Void) throws(CasterError) {
    var rest = bytes
    while stage != .body, !rest.isEmpty {
      let end = rest.firstIndex(of: UInt8(ascii: "\n"))
      let part = rest[..<(end ?? rest.endIndex)]
      line += part
      headCount += part.count
      if stage == .firstLine { try requireText() }
      guard line.count <= CasterAnswer.longestLine, headCount <= CasterAnswer.longestHead else { throw .noCaster("") }
      guard let end else { return }
      rest = rest[(end + 1)...]
      if line.last == UInt8(ascii: "\r") { line.removeLast() }
      try takeLine()
      line = []
    }
    if stage != .body || rest.isEmpty { return }
    if chunks != nil { return try chunks?.take(rest, receive) ?? () }
    let part = rest.prefix(leftCount ?? .max)
    leftCount = leftCount.map { $0 - part.count }
    if !part.isEmpty { receive(part) }
  }

  /// Throws if the first bytes come from a server of another protocol. It does not wait for the end of the line.
  private func requireText() throws(CasterError) {
    // This is a TLS alert: the server rejects clients without TLS.
    if line.first == 0x15 { throw .usesTLS }
    guard line.allSatisfy({ $0 >= 0x20 || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\t") }) else {
      throw .noCaster("")
    }
  }

  private mutating func takeLine() throws(CasterError) {
    let text = String(decoding: line, as: UTF8.self)
    switch stage {
    case .firstLine: try takeFirst(text)
    case .head where text.isEmpty: try decide()
    case .head: takeHeader(text)
    case .body: break
    }
  }

  private mutating func takeFirst(_ text: String) throws(CasterError) {
    let words = text.split(separator: " ", maxSplits: 2)
    switch words.first {
    // Some casters add header lines here. These are not RTCM, so the decoder skips them.
    case "ICY" where words.dropFirst().first == "200": stage = .body
    case "SOURCETABLE":
      isTable = true
      stage = .body
    case "ERROR":
      let complaint = text.lowercased()
      if complaint.contains("password") || complaint.contains("authoriz") { throw .unauthorised }
      if complaint.contains("mount") { throw .noSuchMountPoint(nearest: [], count: 0) }
      throw .refused(CasterAnswer.shown(text))
    case let protocolName? where protocolName.hasPrefix("HTTP/"):
      guard words.count > 1, let number = Int(words[1]) else { throw .noCaster(CasterAnswer.shown(text)) }
      status = number
      statusText = words.dropFirst().joined(separator: " ")
      isHTTP = true
      stage = .head
    default: throw .noCaster(CasterAnswer.shown(text))
    }
  }

  private mutating func takeHeader(_ text: String) {
    // Some casters mix the words of both versions of the protocol.
    if text.hasPrefix("SOURCETABLE ") { isTable = true }
    guard let colon = text.firstIndex(of: ":") else { return }
    let value = text[text.index(after: colon)...].drop { $0 == " " }
    switch text[..<colon].lowercased() {
    case "transfer-encoding" where value.lowercased().contains("chunked"): chunks = ChunkedBody()
    case "content-type": isTable = isTable || value.lowercased().contains("sourcetable")
    case "content-length": leftCount = Int(value).flatMap { $0 >= 0 ? $0 : nil }
    case "location": location = String(value)
    default: break
    }
  }

  private mutating func decide() throws(CasterError) {
    switch status {
    case 200: stage = .body
    case 301, 302, 303, 307, 308: throw .moved(to: CasterAnswer.shown(location, atMost: CasterAnswer.longestPlace))
    case 401, 403: throw .unauthorised
    case 404: throw .noSuchMountPoint(nearest: [], count: 0)
    default: throw .refused(CasterAnswer.shown(statusText))
    }
  }

  /// A caster's text for a message, cut and made printable, because the caster is not trusted.
  private static func shown(_ text: String, atMost count: Int = 80) -> String {
    Text.printable(String(text.prefix(count)))
  }
}

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

  /// Parses received bytes, and passes on the contents of the chunks.
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
