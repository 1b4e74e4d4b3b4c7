import Fusion
import NMEA

extension FusedState {
  /// Magnetic variation at a position on the receiver's date, in degrees, positive east.
  func magneticVariationDegrees(at place: FusedState.Position) -> Double {
    let year = fix?.value.utcNanoseconds.map { EarthModel.year(nanosecondsSince1970: $0) }
    return EarthModel.magneticVariationDegrees(
      at: Coordinate(latitudeDegrees: place.latitudeDegrees, longitudeDegrees: place.longitudeDegrees), year: year)
  }

  /// The heading from magnetic north, and the magnetic variation, positive east, in degrees. `nil` without a heading,
  /// or if the direction of magnetic north is unknown. The variation is `nil` while it is unknown: the magnetometer's
  /// own heading needs none.
  ///
  /// - Parameter lastKnown: the position for the variation if the state has none
  func magneticHeading(lastKnown: Position? = nil) -> (degrees: Double, variationDegrees: Double?)? {
    guard let attitude = attitude?.value, attitude.headingSigmaRadians != nil else { return nil }
    let heading = attitude.quaternion.yaw * 180 / .pi
    guard case .geographic(let declination) = attitude.north else { return (heading, nil) }
    let atPlace = (position?.value ?? lastKnown).map { magneticVariationDegrees(at: $0) }
    guard let variation = atPlace ?? declination.map({ $0 * 180 / .pi }) else { return nil }
    return (heading - variation, variation)
  }
}
