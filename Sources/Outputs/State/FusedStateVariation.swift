import Fusion
import NMEA

extension FusedState {
  /// Magnetic variation at a position on the receiver's date, in degrees, positive east.
  func magneticVariationDegrees(at place: FusedState.Position) -> Double {
    let year = fix?.value.utcNanoseconds.map { EarthModel.year(nanosecondsSince1970: $0) }
    return EarthModel.magneticVariationDegrees(
      at: Coordinate(latitudeDegrees: place.latitudeDegrees, longitudeDegrees: place.longitudeDegrees), year: year)
  }
}
