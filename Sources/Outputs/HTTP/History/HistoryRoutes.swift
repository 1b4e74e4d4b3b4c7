import CLinux
import HTTPTypes
import Hub
import Hummingbird
import NIOCore
import Publishing
import Recording

/// The routes of recorded data.
struct HistoryRoutes {
  /// The maximum number of states, or of power changes, on one page.
  private static let pageLimit = 1000

  let history: RecordedHistory

  var routes: [HTTPRoute] {
    [
      HTTPRoute(.get, "recordings") { request, _ in
        let catalogue = try history.catalogue()
        return try await json(to: request) { HistoryReport.write(catalogue.segments, to: &$0) }
      },
      HTTPRoute(.get, "recordings/:name") { _, context in
        try await SegmentDownload(history: history).response(
          context, name: PathEncoding.decoded(try context.parameters.require("name")))
      },
      HTTPRoute(.get, "history", asking: ["from", "to", "every", "limit", "after"]) { request, context in
        let catalogue = try history.catalogue()
        let query = try query(request, everySeconds: "10")
        return try await json(to: request) { json in
          let page = catalogue.states(
            in: query.times, everySeconds: query.everySeconds, after: query.after, limit: query.limit,
            isStopped: history.stop(for: context.channel))
          HistoryReport.write(page, next: page.next.map { "/history?\(query.query(after: $0))" }, to: &json)
        }
      },
      HTTPRoute(.get, "history/power", asking: ["from", "to", "limit"]) { request, context in
        let catalogue = try history.catalogue()
        let query = try query(request, everySeconds: "0")
        let ids = Set(history.host.hub.devices.map(\.id))
        return try await json(to: request) { json in
          let page = catalogue.power(
            of: ids, in: query.times, limit: query.limit, isStopped: history.stop(for: context.channel))
          HistoryReport.write(page, next: page.next.map { "/history/power?\(query.query(from: $0))" }, to: &json)
        }
      },
      HTTPRoute(.get, "history/track.gpx", asking: ["from", "to", "every", "simplify"]) { request, context in
        let catalogue = try history.catalogue()
        return try TrackDownload(history: history, catalogue: catalogue).response(
          context, try query(request, everySeconds: "1"))
      },
    ]
  }

  private func query(_ request: Request, everySeconds: Substring) throws -> HistoryQuery {
    // Recorded data and requests use the receiver's dates, because the board's clock may be wrong.
    let offset = history.host.hub.lastClockOffset.value
    let behind = offset.map { $0.receiverNanosecondsSince1970.clampedSum(-$0.systemNanosecondsSince1970) } ?? 0
    return try HistoryQuery(
      request, now: clinux_realtime_ns().clampedSum(behind), everySeconds: everySeconds,
      limit: HistoryRoutes.pageLimit)
  }

  /// Reads, writes and compresses a page on a separate thread, so that no other client waits for it.
  private func json(
    to request: Request, _ write: @escaping @Sendable (inout JSONWriter) -> Void
  ) async throws -> Response {
    let document = try await history.threads.run {
      var json = JSONWriter()
      write(&json)
      return HTTPDocument(current: ByteBuffer(bytes: json.bytes), type: "application/json", for: request)
    }
    return document.response(to: request)
  }
}
