import CLinux
import CSystemd
import Fusion
import Hub
import MonotonicTime
import NMEA

/// Signal K's messages: the hello, and deltas with values or meta (Signal K specification 1.7, delta format).
enum SignalKDelta {
  /// The version of the specification that defines these paths and units.
  private static let specification: StaticString = "1.7.0"

  /// Writes the message with which a server greets a client.
  ///
  /// - Parameter context: the vessel, for example `vessels.urn:mrn:signalk:uuid:…`
  static func writeHello(
    version: String, context: String, now: UTCTime = UTCTime(nanosecondsSince1970: clinux_realtime_ns()),
    to json: inout JSONWriter
  ) {
    json.beginObject()
    json.member("name", "SensorHub \(version)")
    json.member("version", literal: specification)
    json.member("timestamp", time: JSONTime(now))
    json.member("self", context)
    json.key("roles")
    json.beginArray()
    json.literal("master")
    json.literal("main")
    json.endArray()
    json.endObject()
    json.endLine()
  }

  static func writeMeta(_ paths: [SignalKPath], context: String, to json: inout JSONWriter) {
    begin(context, &json)
    json.beginObject()
    json.member("timestamp", time: JSONTime(UTCTime(nanosecondsSince1970: clinux_realtime_ns())))
    json.key("meta")
    json.beginArray()
    for path in paths {
      json.beginObject()
      json.member("path", path.rawValue)
      json.key("value")
      json.beginObject()
      if let units = path.units { json.member("units", literal: units) }
      json.member("description", literal: path.words)
      json.endObject()
      json.endObject()
    }
    json.endArray()
    json.endObject()
    end(&json)
  }

  /// Writes an update for each instant and source.
  ///
  /// - Parameter systemNanoseconds: the system's time since 1970, which dates values that were measured before the
  ///   receiver reported a time
  static func write(
    _ values: [(path: SignalKPath, value: SignalKValue)], of state: FusedState, context: String,
    systemNanoseconds: Int64 = clinux_realtime_ns(), to json: inout JSONWriter
  ) {
    begin(context, &json)
    var rest = values
    while let first = rest.first?.value {
      json.beginObject()
      json.member("$source", source(state.devices.text(first.source)))
      let utc =
        state.utc(at: first.at)
        ?? UTCTime(nanosecondsSince1970: systemNanoseconds &- (state.at.nanoseconds &- first.at.nanoseconds))
      json.member("timestamp", time: JSONTime(utc))
      json.key("values")
      json.beginArray()
      for (path, value) in rest where value.at == first.at && value.source == first.source {
        json.beginObject()
        json.member("path", path.rawValue)
        json.key("value")
        write(value.content, &json)
        json.endObject()
      }
      json.endArray()
      json.endObject()
      rest.removeAll { $0.value.at == first.at && $0.value.source == first.source }
    }
    end(&json)
  }

  private static func begin(_ context: String, _ json: inout JSONWriter) {
    json.beginObject()
    json.member("context", context)
    json.key("updates")
    json.beginArray()
  }

  private static func end(_ json: inout JSONWriter) {
    json.endArray()
    json.endObject()
    json.endLine()
  }

  /// The name of a source, such as `sensorhub.gps` or `sensorhub.gps-imu`. A character that is not a letter, a digit, a
  /// hyphen or an underscore becomes a hyphen.
  private static func source(_ devices: String) -> String {
    var text = "sensorhub."
    for scalar in devices.unicodeScalars {
      switch scalar {
      case "a"..."z", "A"..."Z", "0"..."9", "-", "_": text.unicodeScalars.append(scalar)
      default: text += "-"
      }
    }
    return text
  }

  private static func write(_ content: SignalKValue.Content, _ json: inout JSONWriter) {
    switch content {
    case .number(let value, let decimals): json.number(value, decimals: decimals)
    case .text(let text): json.literal(text)
    case .time(let time): json.time(time)
    case .place(let place):
      json.beginObject()
      json.member("longitude", place.longitudeDegrees, decimals: 8)
      json.member("latitude", place.latitudeDegrees, decimals: 8)
      json.member("altitude", place.altitudeMSLMetres, decimals: 2)
      json.endObject()
    case .angles(let roll, let pitch, let yaw):
      json.beginObject()
      json.member("roll", roll, decimals: 5)
      json.member("pitch", pitch, decimals: 5)
      json.member("yaw", yaw, decimals: 5)
      json.endObject()
    }
  }
}

/// The vessel's name in Signal K: its MMSI, as in `vessels.urn:mrn:imo:mmsi:244123456`, or a UUID of this machine.
enum SignalKVessel {
  static func context(mmsi: String?) -> String {
    "vessels." + (mmsi.map { "urn:mrn:imo:mmsi:\($0)" } ?? "urn:mrn:signalk:uuid:\(uuid)")
  }

  /// The UUID. It is constant until the system is installed again. If the machine has no ID, it is constant while the
  /// hub runs.
  static let uuid: String = {
    var bytes = [UInt8](repeating: 0, count: 16)
    if csystemd_hub_identity(&bytes) != 0 { bytes = bytes.map { _ in UInt8.random(in: .min ... .max) } }
    return text(of: bytes)
  }()

  /// The bytes as a UUID of version 4 (RFC 9562, section 5.4), which the specification requires.
  static func text(of bytes: [UInt8]) -> String {
    var text = ""
    for (index, byte) in bytes.enumerated() {
      let value = index == 6 ? byte & 0x0F | 0x40 : index == 8 ? byte & 0x3F | 0x80 : byte
      if [4, 6, 8, 10].contains(index) { text += "-" }
      text += (value < 16 ? "0" : "") + String(value, radix: 16)
    }
    return text
  }
}
