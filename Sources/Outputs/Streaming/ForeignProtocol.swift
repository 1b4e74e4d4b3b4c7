/// Recognises, by its first line, a protocol that does not belong on a port: an HTTP request, TLS, or a binary
/// protocol such as STUN.
///
/// A web page can make its browser send an HTTP request or TLS to any port of this machine or network. The page
/// chooses the request's later lines. It also chooses the method, if the browser considers the port part of the
/// page's own site. With WebRTC, a page can make the browser request a relay from any port (TURN over TCP, RFC 8656).
/// Such a request begins with STUN's header, whose first byte is below 4 (RFC 8489, section 5). No page can make a
/// browser begin with other bytes.
enum ForeignProtocol {
  enum Verdict: Equatable {
    /// More bytes are needed.
    case undecided
    case foreign
    /// The bytes belong to no foreign protocol.
    case other
  }

  /// The first bytes of an HTTP/1 request (RFC 9110, section 9.3; RFC 5789) or an HTTP/2 connection (RFC 9113, section
  /// 3.4).
  private static let beginnings =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"].map { Array("\($0) ".utf8) }

  private static let blanks = Array("\r\n \t".utf8)

  /// Decides whether a client's first bytes belong to a foreign protocol.
  ///
  /// - Parameter letters: the permitted first bytes of text after blanks; `nil` for any printable byte
  static func verdict(on bytes: some Collection<UInt8>, textBeginsWith letters: [UInt8]? = nil) -> Verdict {
    // Servers tolerate empty lines before a request, and some of them tolerate blanks.
    let bytes = bytes.drop { blanks.contains($0) }
    guard let first = bytes.first else { return .undecided }
    if let letters { return letters.contains(first) ? .other : .foreign }
    // TLS begins with the byte 22, and STUN with one below 4. No port here uses a binary protocol.
    guard 0x21...0x7E ~= first else { return .foreign }
    if beginnings.contains(where: { bytes.starts(with: $0) }) { return .foreign }
    guard let afterMethod = bytes.firstIndex(where: { !isOfToken($0) }) else { return .undecided }
    guard afterMethod != bytes.startIndex, bytes[afterMethod] == UInt8(ascii: " ") else { return .other }
    guard let end = bytes.firstIndex(of: UInt8(ascii: "\n")) else { return .undecided }
    return namesVersion(bytes[..<end]) ? .foreign : .other
  }

  /// Whether a byte may be part of a method (RFC 9110, section 5.6.2).
  private static func isOfToken(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: marks.contains(byte)
    }
  }

  private static let marks = Array("!#$%&'*+-.^_`|~".utf8)

  /// Whether a line ends in a protocol and its version: `HTTP/1.1`, or the same form such as `RTSP/1.0`.
  private static func namesVersion(_ line: some Collection<UInt8>) -> Bool {
    var word: [UInt8] = []
    for byte in line where byte != UInt8(ascii: "\r") {
      if byte == UInt8(ascii: " ") { word = [] } else { word.append(byte) }
    }
    let parts = word.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    return parts.count == 2 && !parts[0].isEmpty
      && parts[0].allSatisfy { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) }
      && parts[1].count == 3 && digits.contains(parts[1].first ?? 0)
      && parts[1].dropFirst().first == UInt8(ascii: ".") && digits.contains(parts[1].last ?? 0)
  }
}
