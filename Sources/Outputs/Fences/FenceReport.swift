import Hub
import MonotonicTime
import NMEA

/// On which side of its fences the board is, as JSON: degrees, metres, and seconds before now.
enum FenceReport {
  /// All of them, by their names.
  static func write(_ statuses: [FenceStatus], at now: MonotonicInstant, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "FENCES")
    json.key("fences")
    json.beginObject()
    for status in statuses {
      json.key(dynamic: status.name)
      json.beginObject()
      writeMembers(status, at: now, to: &json)
      json.endObject()
    }
    json.endObject()
    json.endObject()
    json.endLine()
  }

  /// One of them.
  static func write(_ status: FenceStatus, at now: MonotonicInstant, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "FENCE")
    json.member("name", status.name)
    writeMembers(status, at: now, to: &json)
    json.endObject()
    json.endLine()
  }

  private static func writeMembers(_ status: FenceStatus, at now: MonotonicInstant, to json: inout JSONWriter) {
    json.member("state", status.state.rawValue)
    json.member("seconds", (now - status.since).inSeconds, decimals: 1)
    json.member("event", status.event?.rawValue)
    guard let fix = status.fix, let beyond = status.metresBeyond else { return }
    json.member("beyond", beyond, decimals: 1)
    json.key("position")
    json.beginObject()
    json.member("lat", fix.place.latitudeDegrees, decimals: 9)
    json.member("lon", fix.place.longitudeDegrees, decimals: 9)
    json.member("sigmaHorizontal", fix.sigmaMetres, decimals: 3)
    json.member("time", time: fix.utcNanoseconds.map { JSONTime(UTCTime(nanosecondsSince1970: $0)) })
    json.member("age", (now - fix.at).inSeconds, decimals: 1)
    json.endObject()
  }
}
