import FoundationEssentials
import Hub

/// The opening handshake of a WebSocket's client: a request, and an answer that is parsed as it arrives (RFC 6455,
/// section 4).
struct WebSocketHandshake {
  enum Failure: Error, Equatable {
    /// The server answers something else, for example with another protocol. The text is printable.
    case noWebSocket(String)
    case unauthorised
    case moved(to: String)
  }

  /// The value that a server appends to the key before it hashes it (RFC 6455, section 1.3).
  private static let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

  private let key: String
  private var head = HTTPAnswerHead()

  /// - Parameter nonce: 16 random bytes, in base64
  init(key nonce: String) { key = nonce }

  init() {
    self.init(key: Data((0..<16).map { _ in UInt8.random(in: .min ... .max) }).base64EncodedString())
  }

  /// - Parameters:
  ///   - path: the path with its query
  ///   - token: the server's token; `nil` for none
  ///   - version: the version of this program
  func request(_ path: String, of server: ServerAddress, token: String?, version: String) -> [UInt8] {
    var lines = ["GET \(path) HTTP/1.1", "Host: \(server.authority)", "Upgrade: websocket", "Connection: Upgrade"]
    lines += ["Sec-WebSocket-Key: \(key)", "Sec-WebSocket-Version: 13", "User-Agent: sensorhub/\(version)"]
    if let token { lines.append("Authorization: Bearer \(token)") }
    return Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
  }

  /// Takes received bytes.
  ///
  /// - Returns: the bytes after the answer's head; `nil` while the head is incomplete
  mutating func take(_ bytes: [UInt8]) throws(Failure) -> ArraySlice<UInt8>? {
    guard let rest = try head.take(bytes) else { return nil }
    try check()
    return rest
  }

  private func check() throws(Failure) {
    switch head.status {
    case 101: break
    case 301, 302, 303, 307, 308: throw .moved(to: head.location)
    case 401, 403: throw .unauthorised
    default: throw .noWebSocket(head.firstLine)
    }
    guard head["upgrade"]?.lowercased() == "websocket",
      head["sec-websocket-accept"].map({ $0.elementsEqual(expectedAccept) }) == true
    else { throw .noWebSocket(head.firstLine) }
  }

  /// The value that proves that the server has read the key.
  private var expectedAccept: String {
    Data(SHA1.digest(Array((key + WebSocketHandshake.guid).utf8))).base64EncodedString()
  }
}

/// The hash that WebSocket's handshake uses (FIPS 180-4, section 6.1). It protects nothing there: it only shows that
/// the server has read the key.
enum SHA1 {
  static func digest(_ message: [UInt8]) -> [UInt8] {
    var bytes = message + [0x80]
    while bytes.count % 64 != 56 { bytes.append(0) }
    let bitCount = UInt64(message.count) * 8
    for shift in stride(from: 56, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: bitCount >> UInt64(shift)))
    }
    var hash: [UInt32] = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476, 0xC3D2_E1F0]
    for start in stride(from: 0, to: bytes.count, by: 64) { mix(bytes[start..<start + 64], into: &hash) }
    return hash.flatMap { word in
      stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> UInt32($0)) }
    }
  }

  private static func mix(_ block: ArraySlice<UInt8>, into hash: inout [UInt32]) {
    var words: [UInt32] = []
    for index in stride(from: block.startIndex, to: block.endIndex, by: 4) {
      words.append(block[index..<index + 4].reduce(0) { $0 << 8 | UInt32($1) })
    }
    for index in 16..<80 {
      let word = words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]
      words.append(rotated(word, by: 1))
    }
    var (a, b, c, d, e) = (hash[0], hash[1], hash[2], hash[3], hash[4])
    for (index, word) in words.enumerated() {
      let mixed: UInt32
      let constant: UInt32
      switch index {
      case ..<20: (mixed, constant) = (b & c | ~b & d, 0x5A82_7999)
      case ..<40: (mixed, constant) = (b ^ c ^ d, 0x6ED9_EBA1)
      case ..<60: (mixed, constant) = (b & c | b & d | c & d, 0x8F1B_BCDC)
      default: (mixed, constant) = (b ^ c ^ d, 0xCA62_C1D6)
      }
      let next = rotated(a, by: 5) &+ mixed &+ e &+ constant &+ word
      (a, b, c, d, e) = (next, a, rotated(b, by: 30), c, d)
    }
    for (index, word) in [a, b, c, d, e].enumerated() { hash[index] &+= word }
  }

  private static func rotated(_ word: UInt32, by count: UInt32) -> UInt32 { word << count | word >> (32 - count) }
}
