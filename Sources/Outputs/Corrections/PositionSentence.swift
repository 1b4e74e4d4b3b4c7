import NMEA

/// Where a receiver is, as casters want to be told who make corrections for one place.
enum PositionSentence {
  /// A GGA; `nil` while the receiver does not know.
  static func make(of fix: GNSSFix) -> String? {
    guard fix.mode >= .twoDimensional, let place = fix.position, let time = fix.time else { return nil }
    let altitude = SentenceField.fixed(fix.altitudeMSLMetres ?? 0, 1)
    let fields = [
      SentenceField.time(time), SentenceField.coordinate(place.latitudeDegrees, place.longitudeDegrees),
      "\(GGAQuality.number(ofStatus: Int(fix.status.rawValue)))",
      fix.satellitesUsed.map { SentenceField.padded(Int($0), 2) } ?? "", SentenceField.fixed(fix.hdop ?? 1, 1),
      altitude,
      "M", SentenceField.fixed(fix.geoidSeparationMetres ?? 0, 1), "M",
      fix.differentialAgeSeconds.map { SentenceField.fixed($0, 1) } ?? "",
      fix.differentialStation.map { SentenceField.padded(Int($0), 4) } ?? "",
    ]
    return SentenceWriter.make("GPGGA,\(fields.joined(separator: ","))")
  }
}
