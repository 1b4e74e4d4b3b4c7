import HTTPTypes
import Hummingbird
import NIOCore

/// A complete body of one type. The answer depends on the request: compressed, uncompressed, or omitted if the client
/// already has the document.
struct HTTPDocument: Sendable {
  private let type: String
  private let plain: ByteBuffer
  private let compressed: ByteBuffer?
  /// The entity tag; `nil` for a document that is different each time.
  private let tag: String?

  private static let compressedMark = "-gzip"

  /// A document that stays the same until the executable or the board file changes.
  init(lasting bytes: ByteBuffer, type: String) {
    self.type = type
    plain = bytes
    compressed = GZip.compressed(bytes)
    tag = HTTPDocument.digest(of: bytes.readableBytesView)
  }

  /// A short digest of bytes (FNV-1a). It detects accidental changes, not deliberate ones.
  static func digest(of bytes: some Sequence<UInt8>) -> String {
    let digest = bytes.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(digest, radix: 36)
  }

  /// A document that is different each time.
  init(current bytes: ByteBuffer, type: String, for request: Request) {
    self.type = type
    plain = bytes
    compressed = GZip.isAccepted(by: request.headers) ? GZip.compressed(bytes) : nil
    tag = nil
  }

  func response(to request: Request) -> Response {
    let isCompressed = compressed != nil && GZip.isAccepted(by: request.headers)
    let body = (isCompressed ? compressed : nil) ?? plain
    var headers: HTTPFields = [.cacheControl: tag == nil ? "no-store" : "no-cache", .vary: "Accept-Encoding"]
    if let tag {
      headers[.eTag] = "\"\(tag)\(isCompressed ? HTTPDocument.compressedMark : "")\""
      if isKnown(tag, to: request) { return Response(status: .notModified, headers: headers) }
    }
    headers[.contentType] = type
    if isCompressed { headers[.contentEncoding] = "gzip" }
    return Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: body))
  }

  static func text(_ text: String, type: String = "text/plain; charset=utf-8", to request: Request) -> Response {
    HTTPDocument(current: ByteBuffer(string: text), type: type, for: request).response(to: request)
  }

  static func json(to request: Request, _ write: (inout JSONWriter) -> Void) -> Response {
    var json = JSONWriter()
    write(&json)
    return HTTPDocument(current: ByteBuffer(bytes: json.bytes), type: "application/json", for: request)
      .response(to: request)
  }

  /// Whether the client has the document, in any form (RFC 9110, section 13.1.2, weak comparison).
  private func isKnown(_ tag: String, to request: Request) -> Bool {
    let known = request.headers[values: .ifNoneMatch].joined(separator: ",").split(separator: ",")
    return known.contains { entry in
      let entry = entry.filter { $0 != " " && $0 != "\t" }
      let bare = entry.hasPrefix("W/") ? String(entry.dropFirst(2)) : entry
      return bare == "*" || bare == "\"\(tag)\"" || bare == "\"\(tag)\(HTTPDocument.compressedMark)\""
    }
  }
}
