import HTTPTypes
import Hummingbird
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPCompression

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
    // Compute the digest from the memory and not from the buffer's view: in a debug build, each byte of a view takes
    // several function calls.
    tag = bytes.withUnsafeReadableBytes { HTTPDocument.digest(of: $0) }
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

/// Compresses whole answers for clients that accept gzip.
enum GZip {
  /// The smallest answer to compress, in bytes. A smaller one fits into one packet anyway.
  static let leastSize = 1400

  /// The bytes in gzip's format; `nil` if compression saves nothing.
  static func compressed(_ bytes: ByteBuffer) -> ByteBuffer? {
    guard bytes.readableBytes >= leastSize else { return nil }
    // The library's compressor is a channel handler. In a client's connection it would also compress event streams,
    // which do not need it, and would spend time on each event. The compressor therefore runs in a channel of its own,
    // without a socket.
    let channel = EmbeddedChannel()
    defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
    var compressed = ByteBuffer()
    do {
      try channel.pipeline.syncOperations.addHandler(
        HTTPResponseCompressor(initialByteBufferCapacity: bytes.readableBytes))
      try channel.writeInbound(
        HTTPServerRequestPart.head(
          HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: ["Accept-Encoding": "gzip"])))
      try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
      try channel.writeOutbound(HTTPServerResponsePart.body(.byteBuffer(bytes)))
      try channel.writeOutbound(HTTPServerResponsePart.end(nil))
      while let part = try channel.readOutbound(as: HTTPServerResponsePart.self) {
        if case .body(.byteBuffer(var chunk)) = part { compressed.writeBuffer(&chunk) }
      }
    } catch {
      return nil
    }
    return compressed.readableBytes > 0 && compressed.readableBytes < bytes.readableBytes ? compressed : nil
  }

  /// Whether a client accepts answers in this format (RFC 9110, section 12.5.3).
  static func isAccepted(by fields: HTTPFields) -> Bool {
    var anything = false
    for choice in fields[values: .acceptEncoding].joined(separator: ",").lowercased().split(separator: ",") {
      let parts = choice.split(separator: ";").map { $0.filter { $0 != " " && $0 != "\t" } }
      guard let name = parts.first else { continue }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.map { Double($0.dropFirst(2)) ?? 0 } ?? 1
      switch name {
      case "gzip", "x-gzip": return weight > 0
      case "*": anything = weight > 0
      default: continue
      }
    }
    return anything
  }
}
