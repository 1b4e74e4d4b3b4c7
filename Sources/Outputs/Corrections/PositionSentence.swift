import NMEA

/// The sentence that tells a caster the receiver's position, so that the caster can compute corrections for it.
enum PositionSentence {
  /// A GGA sentence; `nil` while the position or the time is unknown.
  static func make(of fix: GNSSFix) -> String? {
    guard fix.mode >= .twoDimensional, let place = fix.position, let time = fix.time else { return nil }
    let satellites = fix.satellitesUsed.map { SentenceField.padded(Int($0), 2) } ?? ""
    let age = fix.differentialAgeSeconds.map { SentenceField.fixed($0, 1) } ?? ""
    let station = fix.differentialStation.map { SentenceField.padded(Int($0), 4) } ?? ""
    var fields: [String] = []
    fields.append(SentenceField.time(time))
    fields.append(SentenceField.coordinate(place.latitudeDegrees, place.longitudeDegrees))
    fields.append("\(FixLetter.quality(ofStatus: Int(fix.status.rawValue)))")
    fields.append(satellites)
    fields.append(SentenceField.fixed(fix.hdop ?? 1, 1))
    fields += [SentenceField.fixed(fix.altitudeMSLMetres ?? 0, 1), "M"]
    fields += [SentenceField.fixed(fix.geoidSeparationMetres ?? 0, 1), "M"]
    fields += [age, station]
    return SentenceWriter.make("GPGGA,\(fields.joined(separator: ","))")
  }
}
