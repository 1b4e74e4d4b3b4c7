import HTTPTypes
import NIOCore
import NIOEmbedded
import NIOHTTP1
import NIOHTTPCompression

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
