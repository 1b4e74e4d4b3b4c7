import NMEA

/// The sentence with which a chart plotter shows a position: GLL, with the time of the position.
func sentence(for position: Coordinate, at time: UTCTime) -> String {
  let place = SentenceField.coordinate(position.latitudeDegrees, position.longitudeDegrees)
  return SentenceWriter.make("GPGLL,\(place),\(SentenceField.time(time)),A,A")
}
