import Devices
import HardwareIO
import Hub
import NMEA
import Publishing

/// A device of a board in the gpsd protocol.
struct GPSDDevice {
  /// The device's ID in the hub.
  var id: String
  /// The device's name in the protocol: the path of the receiver's port, or of the IMU's bus, shortened if it is too
  /// long.
  var path: String
  /// Whether the device is a receiver; otherwise it is the IMU.
  var isReceiver: Bool
  /// The baud rate of the receiver's line, if the board file names it or the hub has found it.
  var speed: BaudRate?
  var identity: ReceiverIdentity?

  /// Whether the receiver reports in its maker's own protocol.
  var isNative: Bool { identity?.reportsInMessages == true }

  /// The fused receivers, or one receiver if none is fused, and the preferred IMU. The protocol has no place for the
  /// measurements of further devices.
  static func all(of hub: Hub) -> [GPSDDevice] {
    hub.receivers.candidates.map {
      GPSDDevice(
        id: $0.description.id, path: GPSDLimits.path($0.description.port), isReceiver: true,
        speed: $0.reader.speed.value, identity: $0.reader.identity.value)
    } + (hub.board.imu.map { [GPSDDevice(id: $0.id, path: GPSDLimits.path($0.place.bus), isReceiver: false)] } ?? [])
  }
}

extension Hub {
  /// The path, in the gpsd protocol, of the fused state's main device.
  var gpsdDevice: String { GPSDLimits.path(mainDevice) }
}

/// The devices in the gpsd protocol.
extension GPSDReport {
  /// Writes a `DEVICES` with all devices, at most `GPSDLimits.devices`. Sleeping ones are included, because some
  /// clients give up on an empty list.
  static func writeDevices(_ hub: Hub, _ activity: GPSDActivity, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "DEVICES")
    json.key("devices")
    json.beginArray()
    for device in GPSDDevice.all(of: hub).prefix(GPSDLimits.devices) { writeDeviceObject(device, activity, to: &json) }
    json.endArray()
    json.endObject()
    json.endLine()
  }

  /// Writes a `DEVICE`. Unknown values are left out, for example the subtype of a receiver that has not reported its
  /// identity. The minimum cycle, which cannot be set, is always left out.
  static func writeDeviceObject(_ device: GPSDDevice, _ activity: GPSDActivity, to json: inout JSONWriter) {
    let since = activity.since[device.id]
    json.beginObject()
    json.member("class", literal: "DEVICE")
    json.member("path", device.path)
    if device.isReceiver {
      json.member("driver", literal: device.identity?.gpsdDriver ?? "NMEA0183")
      json.member("subtype", device.identity?.gpsdSubtype.map { GPSDLimits.shortened($0) })
      if let extensions = device.identity?.extensions, !extensions.isEmpty {
        json.member("subtype1", GPSDLimits.shortened(extensions.joined(separator: ",")))
      }
    } else {
      json.member("driver", literal: "IMU")
    }
    json.member("activated", time: since.map(JSONTime.init))
    if device.isReceiver {
      // The flag means that the device has sent positions.
      if since != nil { json.member("flags", 1) }
      json.member("native", device.isNative ? 1 : 0)
      json.member("bps", device.speed.map { Int($0.rawValue) })
      json.member("parity", literal: "N")
      json.member("stopbits", 1)
      if since != nil { json.member("cycle", activity.cycleSeconds, decimals: 2) }
    }
    json.endObject()
  }

  /// Writes a `DEVICE` for each device that has woken, fallen asleep or reported its identity, and for all devices of a
  /// new board.
  static func writeChanges(
    of devices: [GPSDDevice], _ activity: GPSDActivations.Activity, after told: GPSDActivations.Activity,
    cycleSeconds: Double?, to json: inout JSONWriter
  ) {
    for device in devices {
      let hasChanged =
        (activity.since[device.id] == nil) != (told.since[device.id] == nil)
        || activity.identities[device.id] != told.identities[device.id]
      if activity.boardNumber == told.boardNumber, !hasChanged { continue }
      writeDeviceObject(device, GPSDActivity(since: activity.since, cycleSeconds: cycleSeconds), to: &json)
      json.endLine()
    }
  }

  /// The settings of a `?DEVICE` that differ from the present ones, any `cycle`, and any `hexdata` that is not empty.
  /// The hub refuses them, because the board file decides about devices.
  static func refusedSettings(_ members: GPSDMembers, _ device: GPSDDevice) throws(GPSDMembers.Refusal) -> [String] {
    var refused: [String] = []
    func check(_ name: String, _ isAsIs: Bool?) { if isAsIs == false { refused.append(name) } }
    check("bps", try members.integer("bps").map { $0 == device.speed.map { Int($0.rawValue) } })
    check("parity", try members.string("parity").map { $0 == "N" })
    check("stopbits", try members.integer("stopbits").map { $0 == 1 })
    check("native", try members.integer("native").map { $0 == (device.isNative ? 1 : 0) })
    check("cycle", try members.number("cycle").map { _ in false })
    check("hexdata", try members.string("hexdata").map(\.isEmpty))
    return refused
  }
}

/// Facts about the devices at present; their settings are in the board file.
struct GPSDActivity {
  /// When each active device became active, by device ID.
  var since: [String: UTCTime]
  /// The time from one of the receiver's epochs to the next; `nil` before the second epoch.
  var cycleSeconds: Double?
}

extension ReceiverIdentity {
  /// The name of gpsd's own driver for such a receiver (`type_name` in the drivers of gpsd 3.25; CASIC since 3.26).
  /// gpsd has no driver for Airoha, Quectel and Unicore.
  fileprivate var gpsdDriver: StaticString {
    switch driver {
    case .ublox: "u-blox"
    case .mediatek: "MTK-3301"
    case .casic: "CASIC"
    case .airoha, .auto, .nmea: "NMEA0183"
    case .quectel: "NMEA0183"
    case .unicore: "NMEA0183"
    }
  }

  /// The subtype in gpsd's form: `SW …,HW …` for u-blox and CASIC, otherwise the software version alone.
  fileprivate var gpsdSubtype: String? {
    guard let software else { return nil }
    switch driver {
    case .ublox, .casic: return "SW \(software)" + (hardware.map { ",HW \($0)" } ?? "")
    case .mediatek, .airoha, .auto, .nmea: return software
    case .quectel: return software
    case .unicore: return (hardware.map { "\($0) " } ?? "") + software
    }
  }
}
