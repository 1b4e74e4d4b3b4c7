import Devices
import Fusion
import Hub
import MonotonicTime
import NMEA
import Publishing

/// What the gpsd protocol tells who asks now and then: the fused objects of a watch, as of the time of asking.
extension GPSDReport {
  /// What is older than this is not told any more.
  private static let lifetime = Duration.seconds(5)

  /// Writes a `POLL`; asking wakes nothing. While everything sleeps its lists are empty, and nothing is active.
  static func writePoll(_ host: HubHost, at now: MonotonicInstant, to json: inout JSONWriter) {
    let hub = host.hub.value
    let device = hub.mainDevice
    let state = hub.presentState(at: now, within: lifetime)
    let epoch = hub.receivers.taken?.reader.device.source.latest.flatMap { now - $0.at <= lifetime ? $0 : nil }
    json.beginObject()
    json.member("class", literal: "POLL")
    let time = state?.utc(at: now) ?? UTCTime(nanosecondsSince1970: hub.machine.systemTime())
    json.member("time", time: JSONTime(time))
    // Only what has said something: clients take the last of the lists for granted.
    json.member("active", state == nil && epoch == nil ? 0 : 1)
    json.key("tpv")
    writeOne(state != nil || epoch != nil, to: &json) { json in
      if let state {
        writePositionObject(state, reception: epoch, device: device, to: &json)
      } else if let epoch {
        // Nobody has the state fused: the receiver is awake for its own sentences or its time.
        writePositionObject(epoch.fix, device: device, to: &json)
      }
    }
    json.key("gst")
    writeOne(epoch?.errorStatistics != nil, to: &json) { json in
      if let errors = epoch?.errorStatistics { writeErrorsObject(errors, device: device, to: &json) }
    }
    json.key("sky")
    writeOne(epoch != nil, to: &json) { json in
      if let epoch { writeSkyObject(epoch, device: device, to: &json) }
    }
    json.endObject()
    json.endLine()
  }

  private static func writeOne(_ isPresent: Bool, to json: inout JSONWriter, _ write: (inout JSONWriter) -> Void) {
    json.beginArray()
    if isPresent { write(&json) }
    json.endArray()
  }
}
