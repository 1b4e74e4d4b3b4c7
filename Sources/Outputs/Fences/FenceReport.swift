import Hub
import MonotonicTime
import NMEA

/// The status of fences as JSON. Units are degrees and metres. `seconds` and `age` are seconds before now, `due` and
/// `unknownIn` seconds from now; `time` is a UTC time.
enum FenceReport {
  /// Writes an object with a member for each fence, named after the fence.
  static func write(_ statuses: [FenceStatus], at now: MonotonicInstant, to json: inout JSONWriter) {
    begin(&json)
    for status in statuses {
      json.key(dynamic: status.name)
      json.beginObject()
      writeMembers(status, at: now, to: &json)
      json.endObject()
    }
    end(&json)
  }

  /// Writes all fences with their shapes and the time of the next fix, for one answer.
  ///
  /// - Parameter added: the names of the fences that were added while the hub ran
  static func write(
    _ fences: [FenceSnapshot], added: [String] = [], at now: MonotonicInstant, to json: inout JSONWriter
  ) {
    begin(&json)
    for fence in fences {
      json.key(dynamic: fence.status.name)
      json.beginObject()
      writeMembers(fence.status, at: now, to: &json)
      json.member("due", (fence.dueAt - now).inSeconds, decimals: 1)
      json.member("unknownIn", fence.blindAt.map { ($0 - now).inSeconds }, decimals: 1)
      write(fence.area.shape, to: &json)
      if added.contains(fence.status.name) { json.member("added", true) }
      json.endObject()
    }
    end(&json)
  }

  static func write(_ status: FenceStatus, at now: MonotonicInstant, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "FENCE")
    json.member("name", status.name)
    writeMembers(status, at: now, to: &json)
    json.endObject()
    json.endLine()
  }

  private static func begin(_ json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "FENCES")
    json.key("fences")
    json.beginObject()
  }

  private static func end(_ json: inout JSONWriter) {
    json.endObject()
    json.endObject()
    json.endLine()
  }

  /// Writes a shape in the form of the board file.
  private static func write(_ shape: FenceArea.Shape, to json: inout JSONWriter) {
    switch shape {
    case .circle(let centre, let radius):
      json.key("circle")
      json.beginArray()
      writePlace(centre, to: &json)
      json.number(radius, decimals: 2)
      json.endArray()
    case .polygon(let corners):
      json.key("polygon")
      json.beginArray()
      for corner in corners {
        json.beginArray()
        writePlace(corner, to: &json)
        json.endArray()
      }
      json.endArray()
    }
  }

  /// Writes a position as two elements of an array: latitude and longitude, in degrees.
  private static func writePlace(_ place: Coordinate, to json: inout JSONWriter) {
    json.number(place.latitudeDegrees, decimals: 7)
    json.number(place.longitudeDegrees, decimals: 7)
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
