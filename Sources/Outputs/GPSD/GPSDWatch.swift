/// The objects that a client of the gpsd protocol has requested.
struct GPSDWatch: Equatable {
  var isEnabled = false
  var wantsJSON = false
  var wantsNMEA = false
  /// The kind of raw data: 0 for none, 1 for sentences and for messages in hexadecimal digits, 2 for bytes as received.
  var raw = 0
  var isScaled = false
  var wantsPPS = false
  /// The path of the only device to report.
  var device: String?
  /// The number of `ATT` and `IMU` objects a second; `nil` for one with each of the receiver's epochs. This member
  /// does not exist in gpsd, which has no sensor that is faster than its receivers.
  var attitudeRateHz: Double?

  var wantsSentences: Bool { isEnabled && (wantsNMEA || raw > 0) }
  var wantsReports: Bool { isEnabled && wantsJSON }
  var wantsOffsets: Bool { isEnabled && wantsPPS }
  /// Whether the watch only keeps the devices awake, for clients that poll.
  var isForPolling: Bool { isEnabled && !wantsJSON && !wantsSentences && !wantsPPS }

  private static let attitudeRates = 0.1...100.0

  /// Changes the members that the object names. If it does not name them, `enable` becomes true, `scaled` and `pps`
  /// become false, and the watch applies to all devices.
  mutating func change(by object: [UInt8]) throws(GPSDMembers.Refusal) {
    let members = try GPSDMembers(object)
    var watch = self
    watch.isEnabled = try members.boolean("enable") ?? true
    watch.wantsJSON = try members.boolean("json") ?? wantsJSON
    watch.wantsNMEA = try members.boolean("nmea") ?? wantsNMEA
    watch.raw = try members.integer("raw") ?? raw
    watch.isScaled = try members.boolean("scaled") ?? false
    watch.wantsPPS = try members.boolean("pps") ?? false
    watch.device = try members.string("device").map { GPSDLimits.path($0) }
    // In gpsd, an empty path means all devices.
    if watch.device?.isEmpty == true { watch.device = nil }
    if let rate = try members.number("attitudeRate") {
      let range = GPSDWatch.attitudeRates
      watch.attitudeRateHz = rate > 0 ? min(max(rate, range.lowerBound), range.upperBound) : nil
    }
    self = watch
  }

  func write(to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "WATCH")
    json.member("enable", isEnabled)
    json.member("json", wantsJSON)
    json.member("nmea", wantsNMEA)
    json.member("raw", raw)
    json.member("scaled", isScaled)
    json.member("timing", false)
    json.member("split24", false)
    json.member("pps", wantsPPS)
    json.member("device", device)
    json.member("attitudeRate", attitudeRateHz, decimals: 1)
    json.endObject()
    json.endLine()
  }
}
