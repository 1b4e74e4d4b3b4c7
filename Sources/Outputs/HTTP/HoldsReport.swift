import MonotonicTime

/// Holds as JSON objects.
enum HoldsReport {
  /// Writes a hold for its own client.
  static func write(_ hold: DeviceHolds.Hold, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "HOLD")
    json.member("id", hold.id)
    json.member("device", hold.device)
    json.member("seconds", hold.remaining.inSeconds, decimals: 1)
    json.endObject()
    json.endLine()
  }

  /// Writes all holds for any client, without their identifiers, which only the clients of the holds may know.
  static func write(_ holds: [DeviceHolds.Hold], to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "HOLDS")
    json.key("holds")
    json.beginArray()
    for hold in holds {
      json.beginObject()
      json.member("device", hold.device)
      json.member("holder", hold.holder)
      json.member("seconds", max(0, hold.remaining.inSeconds), decimals: 1)
      json.endObject()
    }
    json.endArray()
    json.endObject()
    json.endLine()
  }
}
