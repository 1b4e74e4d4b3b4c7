import Hub

/// The difference between the system's clock and the receiver's, in the gpsd protocol's objects.
extension GPSDReport {
  /// Writes a `PPS` if the offset comes from a pulse, and a `TOFF` if it comes from the arrival of an epoch.
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
    // The precision is a power of two, in seconds: a microsecond for a pulse, and half a second for a serial line, as
    // in gpsd.
    json.member("precision", offset.source == .pulse ? -20 : -1)
    json.endObject()
    json.endLine()
  }
}
