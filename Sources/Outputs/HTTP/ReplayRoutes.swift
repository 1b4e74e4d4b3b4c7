import HTTPTypes
import Hummingbird
import NIOCore
import NMEA
import Recording

/// The routes of a replay: show its state, pause it, let it step or jump, and change its rate.
enum ReplayRoutes {
  static func routes(_ session: ReplaySession?) -> [HTTPRoute] {
    @Sendable func replayed() throws -> ReplaySession {
      guard let session else {
        throw HTTPError(
          .notFound, message: "this hub does not replay a recording: start one with sensorhub replay FILE")
      }
      return session
    }
    return [
      HTTPRoute(.get, "replay") { request, _ in answer(try replayed(), to: request) },
      HTTPRoute(.post, "replay", asking: ["rate", "step", "paused", "to"]) { request, _ in
        let session = try replayed()
        try change(session, request)
        return answer(session, to: request)
      },
    ]
  }

  /// Changes the replay. It checks the whole request before it changes anything.
  private static func change(_ session: ReplaySession, _ request: Request) throws {
    let rate = try HTTPQuery.number("rate", of: request, in: 0.01...1000)
    let step = try HTTPQuery.number("step", of: request, in: 0.001...86_400)
    let paused = try HTTPQuery.text("paused", of: request)
    guard paused == nil || paused == "true" || paused == "false" else {
      throw HTTPError(.badRequest, message: "'paused' must be true or false")
    }
    let time = try HTTPQuery.text("to", of: request).map { text in
      guard let instant = instant(text) else {
        throw HTTPError(
          .badRequest, message: "'to' must be a time such as 2026-11-22T10:00:00Z, or seconds since 1970")
      }
      return instant
    }
    guard rate != nil || step != nil || paused != nil || time != nil else {
      throw HTTPError(.badRequest, message: "give one of paused=true, step=1, rate=10 or to=TIME")
    }
    session.change(
      rate: rate, to: time, isPaused: paused.map { $0 == "true" }, step: step.map { .nanoseconds(Int64($0 * 1e9)) })
  }

  /// Parses an instant to nanoseconds since 1970.
  private static func instant(_ text: Substring) -> Int64? {
    if let seconds = HTTPQuery.decimal(text) { return seconds < 9e9 ? Int64(seconds * 1e9) : nil }
    var text = String(text)
    return text.withUTF8 { UTCText.read($0)?.nanosecondsSince1970 }
  }

  private static func answer(_ session: ReplaySession, to request: Request) -> Response {
    let status = session.status
    var json = JSONWriter()
    json.beginObject()
    json.member("class", literal: "REPLAY")
    json.member("time", time: time(status.nanosecondsSince1970))
    json.member("from", time: time(status.times.lowerBound))
    json.member("to", time: time(status.times.upperBound))
    json.member("rate", status.rate, decimals: 2)
    json.member("paused", status.isPaused)
    json.member("over", status.isOver)
    json.endObject()
    json.endLine()
    return HTTPDocument(current: ByteBuffer(bytes: json.bytes), type: "application/json", for: request)
      .response(to: request)
  }

  private static func time(_ nanosecondsSince1970: Int64) -> JSONTime {
    JSONTime(UTCTime(nanosecondsSince1970: nanosecondsSince1970))
  }
}
