import Devices
import NMEA

/// The receiver's satellites, which are not fused, in the gpsd protocol's objects.
extension GPSDReport {
  /// Writes a `SKY` with all dilutions. A dilution that the receiver does not report is computed from the directions
  /// of its satellites. Unknown values of a satellite are omitted.
  ///
  /// - Parameter lineBytes: the maximum length of the line that contains the object, counted from the beginning of
  ///   the object
  static func writeSkyObject(
    _ epoch: GNSSObservation, device: String?, lineBytes: Int = GPSDLimits.lineBytes, to json: inout JSONWriter
  ) {
    let start = json.count
    epoch.sky.withSky { sky in
      let fix = epoch.fix
      let computed = SkyDilution(sky)
      json.beginObject()
      json.member("class", literal: "SKY")
      json.member("device", device)
      json.member("time", time: fix.time.map(JSONTime.init))
      json.member("gdop", computed?.geometric, decimals: 2)
      json.member("hdop", known(fix.hdop) ?? computed?.horizontal, decimals: 2)
      json.member("pdop", known(fix.pdop) ?? computed?.position, decimals: 2)
      json.member("tdop", computed?.time, decimals: 2)
      json.member("xdop", computed?.x, decimals: 2)
      json.member("ydop", computed?.y, decimals: 2)
      json.member("vdop", known(fix.vdop) ?? computed?.vertical, decimals: 2)
      var scratch = JSONWriter(capacity: 128)
      // 64 bytes are for the counts before the list and the brackets after it.
      let room = lineBytes - (json.count - start) - 64
      let listed = GPSDLimits.listed(sky, room: room) { index in
        scratch.removeAll()
        write(sky[index], to: &scratch)
        return scratch.count
      }
      let count = listed?.count ?? sky.count
      json.member("nSat", count)
      json.member("uSat", fix.satellitesUsed.map(Int.init) ?? sky.usedCount)
      json.key("satellites")
      json.beginArray()
      for place in 0..<count { write(sky[listed?[place] ?? place], to: &json) }
      json.endArray()
      json.endObject()
    }
  }

  /// The dilution if it is known. Receivers without a fix report 99.99, and some of them 0.
  private static func known(_ dilution: Double?) -> Double? { dilution.flatMap { $0 > 0 && $0 < 99 ? $0 : nil } }

  private static func write(_ satellite: Satellite, to json: inout JSONWriter) {
    json.beginObject()
    json.member("PRN", Int(satellite.number.extended))
    json.member("gnssid", Int(satellite.number.system.rawValue))
    json.member("svid", Int(satellite.number.vehicle))
    if satellite.signal != 0 { json.member("sigid", Int(satellite.signal)) }
    if satellite.hasDirection {
      json.member("az", Double(satellite.azimuthDegrees), decimals: 1)
      json.member("el", Double(satellite.elevationDegrees), decimals: 1)
    }
    // The decoder uses 0 for a satellite that is not tracked.
    if satellite.signalStrength != 0 { json.member("ss", Double(satellite.signalStrength), decimals: 1) }
    json.member("used", satellite.isUsed)
    json.endObject()
  }
}
