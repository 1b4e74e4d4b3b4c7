import HTTPTypes
import Hummingbird
import MCAP
import NIOCore
import Recording

/// The download of one recorded segment, an MCAP file.
struct SegmentDownload {
  private static let pieceByteCount = 256 << 10

  let history: RecordedHistory

  func response(_ context: HTTPContext, name: String) async throws -> Response {
    let catalogue = try history.catalogue()
    let slot = try history.takeSlot(for: context)
    let opened = try await history.threads.run { () -> Result<SegmentContent?, MCAPError> in
      Result { () throws(MCAPError) in try catalogue.content(of: name) }
    }
    let content: SegmentContent?
    do throws(MCAPError) {
      content = try opened.get()
    } catch {
      throw HTTPError(.serviceUnavailable, message: "'\(name)' cannot be read: \(error.summary)")
    }
    guard let content else {
      throw HTTPError(.notFound, message: "there is no such recording; /recordings lists them")
    }
    let headers: HTTPFields = [
      .contentType: "application/octet-stream", .cacheControl: "no-store",
      .contentDisposition: "attachment; filename=\"\(name)\"",
    ]
    let body = ResponseBody(contentLength: Int(content.byteCount)) { [threads = history.threads] writer in
      let pieces = PagedReading(on: threads, from: UInt64(0)) { (offset: UInt64) throws(MCAPError) in
        let bytes = try content.bytes(at: offset, limit: SegmentDownload.pieceByteCount)
        let end = offset + UInt64(bytes.count)
        return (ByteBuffer(bytes: bytes), end < content.byteCount ? end : nil)
      }
      while let piece = try await pieces.next() { try await writer.write(piece) }
      try await writer.finish(nil)
      withExtendedLifetime(slot) {}
    }
    return Response(status: .ok, headers: headers, body: body)
  }
}
