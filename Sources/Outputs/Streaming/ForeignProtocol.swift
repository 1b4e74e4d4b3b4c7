/// Tells by its first bytes what does not belong on a port: an HTTP request, or TLS.
///
/// A web page can have its browser send either to any port of this machine or network, with requests of the page's own
/// further down in it. No page can have it begin with anything else.
enum ForeignProtocol {
  enum Verdict: Equatable {
    /// More bytes are needed.
    case undecided
    case foreign
    /// Not one of these.
    case other
  }

  /// What a request of HTTP/1 (RFC 9110, section 9.3; RFC 5789) or a connection of HTTP/2 (RFC 9113, section 3.4) begins with.
  private static let beginnings =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"].map { Array("\($0) ".utf8) }

  /// The first byte of a TLS handshake (RFC 8446, section 5.1).
  private static let handshake: UInt8 = 22

  static func verdict(on bytes: some Collection<UInt8>) -> Verdict {
    // Servers put up with empty lines before a request.
    let bytes = bytes.drop { $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\n") }
    guard let first = bytes.first else { return .undecided }
    if first == handshake { return .foreign }
    if beginnings.contains(where: { bytes.starts(with: $0) }) { return .foreign }
    return beginnings.contains { $0.starts(with: bytes) } ? .undecided : .other
  }
}
