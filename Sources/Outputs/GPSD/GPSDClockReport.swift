import Hub

/// The clocks side by side, in the gpsd protocol's objects.
extension GPSDReport {
  /// Writes a `PPS` where a pulse tells, and a `TOFF` where the arrival of an epoch does.
  static func write(_ offset: ClockOffset, device: String, to json: inout JSONWriter) {
    let second: Int64 = 1_000_000_000
    json.beginObject()
    json.key("class")
    json.string(offset.source == .pulse ? "PPS" : "TOFF")
    json.member("device", device)
    json.member("real_sec", Int(offset.receiverNanosecondsSince1970 / second))
    json.member("real_nsec", Int(offset.receiverNanosecondsSince1970 % second))
    json.member("clock_sec", Int(offset.systemNanosecondsSince1970 / second))
    json.member("clock_nsec", Int(offset.systemNanosecondsSince1970 % second))
    // Powers of two, in seconds: a microsecond, and what gpsd says of a serial line, half a second.
    json.member("precision", offset.source == .pulse ? -20 : -1)
    json.endObject()
    json.endLine()
  }
}
