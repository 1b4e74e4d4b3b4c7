import Hub

/// The head of a server's HTTP answer, parsed as it arrives (RFC 9112, section 4).
struct HTTPAnswerHead {
  private static let longest = 8 * 1024

  private var bytes: [UInt8] = []
  private var headers: [String: Substring] = [:]
  /// The first line, cut and made printable, because the server is not trusted.
  private(set) var firstLine = ""
  /// The status code; `nil` until the head is complete.
  private(set) var status: Int?

  /// The value of a header; `nil` if the answer has none of this name.
  ///
  /// - Parameter name: the name, in lower case
  subscript(name: String) -> Substring? { headers[name] }

  /// The place to which the server has moved, cut and made printable.
  var location: String { Text.printable(String((headers["location"] ?? "").prefix(80))) }

  /// Takes received bytes.
  ///
  /// - Returns: the bytes after the head; `nil` while the head is incomplete
  mutating func take(_ received: [UInt8]) throws(WebSocketHandshake.Failure) -> ArraySlice<UInt8>? {
    // The line ends after the head may arrive in two reads, so search the last three earlier bytes too.
    let searched = max(0, bytes.count - 3)
    bytes += received
    guard Array("HTTP/".utf8).starts(with: bytes.prefix(5)) else { throw .noWebSocket(HTTPAnswerHead.shown(bytes)) }
    let limit = min(bytes.count, HTTPAnswerHead.longest)
    guard limit >= 4, let end = (searched..<max(searched, limit - 3)).first(where: isEnd) else {
      if bytes.count >= HTTPAnswerHead.longest { throw .noWebSocket("") }
      return nil
    }
    let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
    firstLine = HTTPAnswerHead.shown(bytes)
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { continue }
      headers[line[..<colon].lowercased()] = line[line.index(after: colon)...].drop { $0 == " " }
    }
    let words = lines.first?.split(separator: " ") ?? []
    status = words.dropFirst().first.flatMap { Int($0) } ?? 0
    return bytes[(end + 4)...]
  }

  private func isEnd(_ index: Int) -> Bool { bytes[index..<index + 4].elementsEqual("\r\n\r\n".utf8) }

  private static func shown(_ bytes: [UInt8]) -> String {
    let line = bytes.prefix(80).prefix { $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\n") }
    return Text.printable(String(decoding: line, as: UTF8.self))
  }
}
