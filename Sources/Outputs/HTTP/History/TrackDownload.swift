import HTTPTypes
import Hub
import Hummingbird
import NIOCore
import NMEA
import Publishing
import Recording

/// The track of a time span as a GPX file. The file is sent while the track is still being read.
struct TrackDownload {
  /// The maximum number of points in one piece.
  private static let pieceCount = 500
  private static let patience = Duration.milliseconds(250)

  private enum Cursor: Sendable {
    case start
    case behind(TrackReading)
  }

  let history: RecordedHistory
  let catalogue: SegmentCatalogue

  func response(_ context: HTTPContext, _ query: HistoryQuery) throws -> Response {
    let slot = try history.takeSlot(for: context)
    let name = history.host.hub.board.name
    let headers: HTTPFields = [
      .contentType: "application/gpx+xml", .cacheControl: "no-store",
      .contentDisposition: "attachment; filename=\"\(TrackDownload.fileName(query))\"",
    ]
    let body = ResponseBody { [self] writer in
      let pieces = reading(context, query)
      let text = CollectedBytes()
      var gpx = GPXWriter(text, name: name, version: history.host.version)
      while let piece = try await pieces.next() {
        for point in piece.points { gpx.add(point.point, beginsSegment: point.beginsSegment) }
        gpx.flush()
        if let bytes = text.take() { try await writer.write(bytes) }
      }
      gpx.finish()
      if let bytes = text.take() { try await writer.write(bytes) }
      try await writer.finish(nil)
      withExtendedLifetime(slot) {}
    }
    return Response(status: .ok, headers: headers, body: body)
  }

  private func reading(_ context: HTTPContext, _ query: HistoryQuery) -> PagedReading<TrackReading.Piece, Never> {
    PagedReading(on: history.threads, from: Cursor.start) { [history, catalogue] (cursor: Cursor) throws(Never) in
      var reading: TrackReading
      switch cursor {
      case .start: reading = TrackReading(catalogue, in: query.times, everySeconds: query.everySeconds)
      case .behind(let before): reading = before
      }
      let piece = reading.next(
        limit: TrackDownload.pieceCount,
        isStopped: history.stop(for: context.channel, after: TrackDownload.patience))
      return (piece.simplified(toleranceMetres: query.simplifyMetres), piece.isLast ? nil : .behind(reading))
    }
  }

  /// The name of the file, for example `track-20261122T100000Z.gpx`.
  private static func fileName(_ query: HistoryQuery) -> String {
    "track-\(UTCStamp(nanosecondsSince1970: query.times.lowerBound.nanosecondsSince1970).basic).gpx"
  }
}

/// Collects the written bytes of the track until they are sent to the client.
private final class CollectedBytes: TrackOutput {
  private var bytes = ByteBuffer()

  func write(_ bytes: UnsafeRawBufferPointer) { self.bytes.writeBytes(bytes) }

  /// Takes the bytes since the last call; `nil` if there are none.
  func take() -> ByteBuffer? {
    defer { bytes = ByteBuffer() }
    return bytes.readableBytes > 0 ? bytes : nil
  }
}
