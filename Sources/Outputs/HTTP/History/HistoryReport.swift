import NMEA
import Recording

/// Recorded data as JSON objects.
enum HistoryReport {
  static func write(_ segments: [SegmentCatalogue.Segment], to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "RECORDINGS")
    json.key("recordings")
    json.beginArray()
    for segment in segments {
      json.beginObject()
      json.member("name", segment.name)
      json.member("from", segment.times.map { UTCText.make($0.lowerBound) })
      json.member("to", segment.times.map { UTCText.make($0.upperBound) })
      json.member("bytes", Int(clamping: segment.byteCount))
      json.member("writing", segment.isBeingWritten)
      json.endObject()
    }
    json.endArray()
    json.endObject()
    json.endLine()
  }

  /// - Parameter next: the address of the next page
  static func write(_ page: StatePage, next: String?, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "HISTORY")
    json.key("states")
    json.beginArray()
    for report in page.reports { json.value(report) }
    json.endArray()
    json.member("next", next)
    json.endObject()
    json.endLine()
  }

  /// - Parameter next: the address of the next page
  static func write(_ page: PowerPage, next: String?, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "POWER")
    json.key("changes")
    json.beginArray()
    for change in page.changes {
      json.beginObject()
      json.member("id", change.id)
      json.member("power", change.power)
      json.member("time", UTCText.make(change.time))
      json.member("reason", change.reason)
      if !change.holders.isEmpty {
        json.key("holders")
        json.beginArray()
        for holder in change.holders { json.string(holder) }
        json.endArray()
      }
      json.endObject()
    }
    json.endArray()
    json.member("next", next)
    json.endObject()
    json.endLine()
  }
}
