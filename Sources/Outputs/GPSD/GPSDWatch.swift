import FoundationEssentials

/// What a client of the gpsd protocol wants to be sent.
struct GPSDWatch: Equatable {
  var isEnabled = false
  var wantsJSON = false
  var wantsNMEA = false
  /// 0 none, 1 sentences, 2 bytes as they came; a receiver that speaks NMEA makes no difference between them.
  var raw = 0
  var isScaled = false
  var wantsPPS = false
  /// Nothing of other devices.
  var device: String?

  /// A watch alone keeps the receiver awake, for whoever polls.
  var wantsSentences: Bool { isEnabled && (wantsNMEA || raw > 0) }
  var wantsReports: Bool { isEnabled && wantsJSON }
  var wantsOffsets: Bool { isEnabled && wantsPPS }

  private struct Members: Decodable {
    var enable: Bool?
    var json: Bool?
    var nmea: Bool?
    var raw: Int?
    var scaled: Bool?
    var pps: Bool?
    var device: String?
  }

  /// Changes what the object names; a watch that says nothing of enabling enables, and one that names no device means all.
  ///
  /// - Returns: false where it is no such object
  mutating func change(by object: [UInt8]) -> Bool {
    guard let members = try? JSONDecoder().decode(Members.self, from: Data(object)) else { return false }
    isEnabled = members.enable ?? true
    wantsJSON = members.json ?? wantsJSON
    wantsNMEA = members.nmea ?? wantsNMEA
    raw = members.raw ?? raw
    isScaled = members.scaled ?? isScaled
    wantsPPS = members.pps ?? wantsPPS
    device = members.device
    return true
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
    json.endObject()
    json.endLine()
  }
}
