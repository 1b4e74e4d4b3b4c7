import Devices
import CLinux
import HardwareIO
import Hub
import NMEA
import Publishing

/// What the gpsd protocol tells of the devices, and what it tells when it is asked.
extension GPSDReport {
  /// Writes a `DEVICES` with all devices, the sleeping ones too: some clients give up on an empty list.
  static func writeDevices(_ host: HubHost, to json: inout JSONWriter) {
    let hub = host.hub.value
    json.beginObject()
    json.member("class", literal: "DEVICES")
    json.key("devices")
    json.beginArray()
    if let gps = hub.board.gps { writeReceiver(gps, isAwake: hub.isAwake("gps"), to: &json) }
    if let imu = hub.board.imu {
      json.beginObject()
      json.member("class", literal: "DEVICE")
      json.member("path", imu.bus)
      json.member("driver", literal: "IMU")
      json.member("activated", hub.isAwake("imu") ? 1 : 0)
      json.endObject()
    }
    json.endArray()
    json.endObject()
    json.endLine()
  }

  /// Writes the receiver's `DEVICE`.
  static func writeDevice(_ host: HubHost, to json: inout JSONWriter) {
    guard let gps = host.hub.value.board.gps else { return writeDevices(host, to: &json) }
    writeReceiver(gps, isAwake: host.hub.value.isAwake("gps"), to: &json)
    json.endLine()
  }

  private static func writeReceiver(_ gps: Board.GPSDescription, isAwake: Bool, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "DEVICE")
    json.member("path", gps.port)
    json.member("driver", literal: "NMEA0183")
    json.member("activated", isAwake ? 1 : 0)
    json.member("flags", 1)
    json.member("native", 0)
    json.member("bps", gps.speed.map { Int($0.rawValue) } ?? 9600)
    json.member("parity", literal: "N")
    json.member("stopbits", 1)
    json.member("cycle", 1.0, decimals: 2)
    json.endObject()
  }

  /// Writes a `POLL` with the receiver's last epoch, while it is awake for somebody; asking wakes nothing.
  static func writePoll(_ host: HubHost, to json: inout JSONWriter) {
    let hub = host.hub.value
    let latest = hub.gps?.publisher.latest
    let device = hub.board.gps?.port
    func writeOne(_ isPresent: Bool, _ write: (inout JSONWriter) -> Void) {
      json.beginArray()
      if isPresent { write(&json) }
      json.endArray()
    }
    json.beginObject()
    json.member("class", literal: "POLL")
    json.member("time", time: JSONTime(latest?.fix.time ?? UTCTime(nanosecondsSince1970: clinux_realtime_ns())))
    // Only what has said something: clients take the last of the lists for granted.
    json.member("active", latest == nil ? 0 : 1)
    json.key("tpv")
    writeOne(latest != nil) { json in
      if let latest { writePositionObject(latest.fix, device: device, to: &json) }
    }
    json.key("gst")
    writeOne(latest?.errorStatistics != nil) { json in
      if let errors = latest?.errorStatistics { writeErrorsObject(errors, device: device, to: &json) }
    }
    json.key("sky")
    writeOne(latest != nil) { json in
      if let latest { latest.sky.withSky { writeSkyObject($0, latest.fix, device: device, to: &json) } }
    }
    json.endObject()
    json.endLine()
  }

  /// Writes what only the receiver knows of an epoch: `SKY` and `GST`, where it sent them.
  static func writeReception(_ epoch: GNSSObservation, device: String, to json: inout JSONWriter) {
    if !epoch.sky.isEmpty {
      epoch.sky.withSky { writeSkyObject($0, epoch.fix, device: device, to: &json) }
      json.endLine()
    }
    if let errors = epoch.errorStatistics {
      writeErrorsObject(errors, device: device, to: &json)
      json.endLine()
    }
  }
}

extension Hub {
  fileprivate func isAwake(_ id: String) -> Bool {
    devices.contains { $0.id == id && $0.power != .off && $0.power != .failed }
  }
}
