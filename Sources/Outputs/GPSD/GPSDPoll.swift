import Devices
import Fusion
import Hub
import MonotonicTime
import NMEA
import Publishing

/// The answer to `?POLL`: the latest objects of all active devices, at the time of the request.
extension GPSDReport {
  /// The greatest age of a value that is sent.
  private static let lifetime = Duration.seconds(5)

  /// A device with its latest values.
  private struct Entry {
    var path: String
    /// The fused state; `nil` if the values come only from the receiver's epoch.
    var state: FusedState?
    var epoch: GNSSObservation?
  }

  /// Writes a `POLL`. It wakes no device: while no device has sent anything for `lifetime`, its lists are empty and no
  /// device is active.
  ///
  /// Each list has one entry for each active device, as in gpsd. Clients take the last entry of a list (gpsd-py3) or
  /// the first one, without checking that the list has an entry. The fused state of the IMU and the selected receiver
  /// is the last entry, as if one device had measured it.
  static func writePoll(_ host: HubHost, at now: MonotonicInstant, to json: inout JSONWriter) {
    let hub = host.hub
    let entries = entries(of: hub, at: now)
    let start = json.count
    json.beginObject()
    json.member("class", literal: "POLL")
    let time = entries.last?.state?.utc(at: now) ?? UTCTime(nanosecondsSince1970: hub.machine.systemTime())
    json.member("time", time: JSONTime(time))
    json.member("active", entries.count)
    json.key("tpv")
    json.beginArray()
    for entry in entries {
      if let state = entry.state {
        writePositionObject(state, reception: entry.epoch, device: entry.path, to: &json)
      } else if let epoch = entry.epoch {
        // There is no state for this receiver: the receiver is not the selected one, or no client uses the fused state
        // and the receiver is awake only for its own sentences or its time.
        writePositionObject(epoch.fix, device: entry.path, to: &json)
      }
    }
    json.endArray()
    json.key("gst")
    json.beginArray()
    for entry in entries {
      if let errors = entry.epoch?.errorStatistics {
        writeErrorsObject(errors, device: entry.path, to: &json)
      } else {
        writeEmptyObject("GST", of: entry, to: &json)
      }
    }
    json.endArray()
    json.key("sky")
    json.beginArray()
    for (index, entry) in entries.enumerated() {
      guard let epoch = entry.epoch else {
        writeEmptyObject("SKY", of: entry, to: &json)
        continue
      }
      // All satellites must fit into one line.
      let left = GPSDLimits.lineBytes - (json.count - start)
      writeSkyObject(epoch, device: entry.path, lineBytes: left / (entries.count - index), to: &json)
    }
    json.endArray()
    json.endObject()
    json.endLine()
  }

  /// The active devices that have sent something within `lifetime`. The device of the fused state comes last.
  private static func entries(of hub: Hub, at now: MonotonicInstant) -> [Entry] {
    let state = hub.presentState(at: now, within: lifetime)
    let taken = hub.receivers.taken
    func latest(_ receiver: ReceiverSelection.Candidate) -> GNSSObservation? {
      receiver.reader.device.source.latest.flatMap { now - $0.at <= lifetime ? $0 : nil }
    }
    var entries: [Entry] = []
    for receiver in hub.receivers.candidates where receiver !== taken {
      if let epoch = latest(receiver) {
        entries.append(Entry(path: GPSDLimits.path(receiver.description.port), state: nil, epoch: epoch))
      }
    }
    let epoch = taken.flatMap { latest($0) }
    if state != nil || epoch != nil { entries.append(Entry(path: hub.gpsdDevice, state: state, epoch: epoch)) }
    return entries
  }

  /// Writes an object without values for a device that has sent none.
  private static func writeEmptyObject(_ name: StaticString, of entry: Entry, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: name)
    json.member("device", entry.path)
    json.endObject()
  }
}
