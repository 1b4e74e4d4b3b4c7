import NMEA

/// Objects of the gpsd protocol (gpsd_json(5), release 3.27), with the same keys, units and numbers of decimals.
public enum GPSDReport {
  /// Writes the objects of an epoch: a `TPV`, and also a `SKY` and a `GST` if the receiver sent values for them.
  public static func write(_ epoch: borrowing GNSSEpoch, to json: inout JSONWriter) {
    writePosition(epoch.fix, to: &json)
    if !epoch.sky.isEmpty { writeSky(epoch.sky, epoch.fix, to: &json) }
    if let statistics = epoch.errorStatistics { writeErrors(statistics, to: &json) }
  }

  static func writePosition(_ fix: borrowing GNSSFix, to json: inout JSONWriter) {
    writePositionObject(fix, device: nil, to: &json)
    json.endLine()
  }

  /// - Parameter device: the path of the device; `nil` omits it
  static func writePositionObject(_ fix: borrowing GNSSFix, device: String?, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "TPV")
    json.member("device", device)
    // gpsd omits the statuses 0 (unknown) and 1 (GNSS).
    if fix.status != .unknown, fix.status != .gnss { json.member("status", Int(fix.status.rawValue)) }
    json.member("mode", Int(fix.mode.rawValue))
    json.member("time", time: fix.time.map(JSONTime.init))
    if fix.time != nil { json.member("ept", 0.005, decimals: 3) }
    if fix.mode >= .twoDimensional {
      json.member("lat", fix.position?.latitudeDegrees, decimals: 9)
      json.member("lon", fix.position?.longitudeDegrees, decimals: 9)
      json.member("altHAE", fix.altitudeHAEMetres, decimals: 4)
      json.member("altMSL", fix.altitudeMSLMetres, decimals: 4)
      json.member("alt", fix.altitudeMSLMetres, decimals: 4)
      json.member("epx", fix.longitudeErrorMetres, decimals: 3)
      json.member("epy", fix.latitudeErrorMetres, decimals: 3)
      json.member("epv", fix.epv, decimals: 3)
      json.member("track", bearing: fix.trackDegrees, decimals: 4)
      json.member("magtrack", bearing: fix.magneticTrackDegrees, decimals: 4)
      json.member("magvar", fix.magneticVariationDegrees, decimals: 1)
      json.member("speed", fix.speedMetresPerSecond, decimals: 3)
      json.member("climb", fix.climbMetresPerSecond, decimals: 3)
      json.member("epd", fix.trackErrorDegrees, decimals: 4)
      json.member("eps", fix.speedErrorMetresPerSecond, decimals: 2)
      if let velocity = fix.velocity {
        json.member("velN", velocity.northMetresPerSecond, decimals: 3)
        json.member("velE", velocity.eastMetresPerSecond, decimals: 3)
        json.member("velD", velocity.downMetresPerSecond, decimals: 3)
      }
      json.member("geoidSep", fix.geoidSeparationMetres, decimals: 3)
      json.member("eph", fix.eph, decimals: 3)
      json.member("sep", fix.sep, decimals: 3)
      json.member("dgpsAge", fix.differentialAgeSeconds, decimals: 1)
      json.member("dgpsSta", fix.differentialStation.map(Int.init))
      json.member("depth", fix.depthMetres, decimals: 3)
      json.member("wtemp", fix.waterTemperatureCelsius, decimals: 3)
    }
    json.member("jam", fix.interference.jammingIndicator.map(Int.init))
    json.endObject()
  }

  static func writeSky(_ sky: Sky, _ fix: borrowing GNSSFix, to json: inout JSONWriter) {
    writeSkyObject(sky, fix, device: nil, to: &json)
    json.endLine()
  }

  static func writeSkyObject(_ sky: Sky, _ fix: borrowing GNSSFix, device: String?, to json: inout JSONWriter) {
    let start = json.count
    json.beginObject()
    json.member("class", literal: "SKY")
    json.member("device", device)
    json.member("time", time: fix.time.map(JSONTime.init))
    json.member("hdop", fix.hdop, decimals: 2)
    json.member("pdop", fix.pdop, decimals: 2)
    json.member("vdop", fix.vdop, decimals: 2)
    // 64 bytes are for the counts before the list and the brackets after it.
    let room = GPSDLimits.lineBytes - (json.count - start) - 64
    let listed = GPSDLimits.listed(sky, room: room) { index in
      var scratch = JSONWriter(capacity: 128)
      write(sky[index], isFirst: true, to: &scratch)
      return scratch.count
    }
    let count = listed?.count ?? sky.count
    json.member("nSat", count)
    let usedCount = if let stated = fix.satellitesUsed { Int(stated) } else { sky.usedCount }
    json.member("uSat", usedCount)
    json.key("satellites")
    json.beginArray()
    for place in 0..<count { write(sky[listed?[place] ?? place], isFirst: place == 0, to: &json) }
    json.endArray()
    json.endObject()
  }

  /// Most of the written bytes describe satellites, so a key and its punctuation are written in one piece.
  @inline(__always)
  private static func write(_ satellite: Satellite, isFirst: Bool, to json: inout JSONWriter) {
    json.fragment(isFirst ? #"{"PRN":"# : #",{"PRN":"#, then: Int(satellite.number.extended))
    json.fragment(#","gnssid":"#, then: Int(satellite.number.system.rawValue))
    json.fragment(#","svid":"#, then: Int(satellite.number.vehicle))
    if satellite.signal != 0 { json.fragment(#","sigid":"#, then: Int(satellite.signal)) }
    json.fragment(#","az":"#, then: Int(satellite.azimuthDegrees))
    json.fragment(#".0,"el":"#, then: Int(satellite.elevationDegrees))
    json.fragment(#".0,"ss":"#, then: Int(satellite.signalStrength))
    json.fragment(satellite.isUsed ? #".0,"used":true}"# : #".0,"used":false}"#)
  }

  static func writeErrors(_ errors: GNSSErrorStatistics, to json: inout JSONWriter) {
    writeErrorsObject(errors, device: nil, to: &json)
    json.endLine()
  }

  static func writeErrorsObject(_ errors: GNSSErrorStatistics, device: String?, to json: inout JSONWriter) {
    let statistics = errors.statistics
    json.beginObject()
    json.member("class", literal: "GST")
    json.member("device", device)
    json.member("time", time: errors.time.map(JSONTime.init))
    json.member("rms", statistics.rangeRMSMetres, decimals: 3)
    json.member("major", statistics.semiMajorMetres, decimals: 3)
    json.member("minor", statistics.semiMinorMetres, decimals: 3)
    json.member("orient", statistics.orientationDegrees, decimals: 3)
    json.member("lat", statistics.latitudeSigmaMetres, decimals: 3)
    json.member("lon", statistics.longitudeSigmaMetres, decimals: 3)
    json.member("alt", statistics.altitudeSigmaMetres, decimals: 3)
    json.endObject()
  }

  /// Writes an `ATT` with the attitude from a receiver's sentence.
  public static func write(_ attitude: NMEAAttitude, to json: inout JSONWriter) {
    json.beginObject()
    json.member("class", literal: "ATT")
    json.member("time", time: attitude.time.map(JSONTime.init))
    json.member("heading", bearing: attitude.headingDegrees, decimals: 3)
    json.member("mheading", bearing: attitude.magneticHeadingDegrees, decimals: 3)
    json.member("pitch", attitude.pitchDegrees, decimals: 3)
    json.member("roll", attitude.rollDegrees, decimals: 3)
    json.member("rot", attitude.rateOfTurnDegreesPerMinute, decimals: 5)
    json.member("mag_x", attitude.magneticX, decimals: 5)
    json.member("mag_y", attitude.magneticY, decimals: 5)
    json.member("mag_z", attitude.magneticZ, decimals: 5)
    json.endObject()
    json.endLine()
  }
}

/// gpsd's error estimates: those of the receiver, or else a fixed range error multiplied by the dilution of precision.
extension GNSSFix {
  /// The range errors in metres with which gpsd converts a dilution of precision to metres at 95 %.
  private enum UserRangeError {
    static let position = 19.0
    static let vertical = 23.0
  }

  fileprivate var eph: Double? { horizontalErrorMetres ?? hdop.map { $0 * UserRangeError.position } }
  fileprivate var sep: Double? { sphericalErrorMetres ?? pdop.map { $0 * UserRangeError.position } }
  fileprivate var epv: Double? {
    verticalErrorMetres ?? (mode == .threeDimensional ? vdop.map { $0 * UserRangeError.vertical } : nil)
  }
}
