import Devices
import NMEA

/// Makes sentences from an epoch of a receiver that reports in binary messages: RMC, GGA, VTG, GST, ZDA, GSA and GSV. A
/// client that reads a receiver's own sentences gets them instead. gpsd does the same for such receivers (RMC, GGA,
/// GSA, GBS, GSV and ZDA).
enum EpochSentences {
  static func make(of epoch: GNSSObservation) -> String {
    let fix = epoch.fix
    let place = fix.mode >= .twoDimensional ? fix.position : nil
    let time = fix.time.map { SentenceField.time($0) } ?? ""
    let status = Int(fix.status.rawValue)
    let letter = place == nil ? "N" : FixLetter.mode(ofStatus: status)
    let coordinate = place.map { SentenceField.coordinate($0.latitudeDegrees, $0.longitudeDegrees) } ?? ",,,"
    let knots = place == nil ? nil : fix.speedMetresPerSecond.map { SentenceText.knots($0) }
    let track = place == nil ? nil : fix.trackDegrees.map { SentenceText.bearing($0, 1) }
    let variation = place == nil ? nil : fix.magneticVariationDegrees.map { SentenceText.eastOrWest($0) }
    let recommended: [String] = [
      "GPRMC", time, place == nil ? "V" : "A", coordinate, knots ?? "", track ?? "",
      fix.time.map { SentenceField.date($0) } ?? "", variation ?? ",", letter,
    ]
    var text = SentenceWriter.make(recommended.joined(separator: ","))
    text += SentenceWriter.make(positionFields(fix, place, time, coordinate).joined(separator: ","))
    if let knots, let speed = fix.speedMetresPerSecond {
      let magnetic = fix.magneticTrackDegrees.map { SentenceText.bearing($0, 1) } ?? ""
      let kilometres = SentenceField.fixed(speed * 3.6, 2)
      text += SentenceWriter.make("GPVTG,\(track ?? ""),T,\(magnetic),M,\(knots),N,\(kilometres),K,\(letter)")
    }
    if place != nil, let sigma = fix.horizontalErrorMetres {
      let axis = SentenceText.sigma(sigma, 2)
      let vertical = fix.verticalErrorMetres.map { SentenceText.sigma($0, 2) } ?? ""
      text += SentenceWriter.make("GPGST,\(time),,\(axis),\(axis),0.0,\(axis),\(axis),\(vertical)")
    }
    if let utc = fix.time {
      let date = utc.components.date
      let (day, month) = (SentenceField.padded(Int(date.day), 2), SentenceField.padded(Int(date.month), 2))
      text += SentenceWriter.make("GPZDA,\(time),\(day),\(month),\(date.year),00,00")
    }
    if !epoch.sky.isEmpty {
      text += SatelliteSentences.used(epoch, mode: Int(fix.mode.rawValue)) + SatelliteSentences.inView(epoch.sky)
    }
    return text
  }

  private static func positionFields(
    _ fix: GNSSFix, _ place: Coordinate?, _ time: String, _ coordinate: String
  ) -> [String] {
    let quality = place == nil ? 0 : FixLetter.quality(ofStatus: Int(fix.status.rawValue))
    let used = fix.satellitesUsed.map { SentenceField.padded(Int($0), 2) } ?? ""
    let hdop = fix.hdop.map { SentenceField.fixed($0, 1) } ?? ""
    let altitude = place == nil ? nil : fix.altitudeMSLMetres.map { SentenceText.altitude($0) }
    let separation = place == nil ? nil : fix.geoidSeparationMetres.map { SentenceField.fixed($0, 1) }
    let age = fix.differentialAgeSeconds.map { SentenceField.fixed($0, 1) } ?? ""
    let station = fix.differentialStation.map { SentenceField.padded(Int($0), 4) } ?? ""
    return [
      "GPGGA", time, coordinate, "\(quality)", used, hdop, altitude ?? "", "M", separation ?? "", "M", age, station,
    ]
  }
}
