import Fusion
import MonotonicTime
import NMEA

extension FusedState {
  /// UTC at an instant near this state: the last time that the receiver reported, plus the monotonic time since then.
  /// `nil` before the receiver has reported a time.
  ///
  /// Each part of a state has its own instant, and therefore its own time. With an IMU, the position is that of the
  /// newest sample, which may be up to a second newer than its fix.
  func utc(at instant: MonotonicInstant) -> UTCTime? {
    guard let fix, let utc = fix.value.utcNanoseconds else { return nil }
    return UTCTime(nanosecondsSince1970: utc &+ (instant.nanoseconds &- fix.at.nanoseconds))
  }

  /// UTC at an instant in the precision of sentences, rounded to hundredths of a second.
  func sentenceTime(at instant: MonotonicInstant) -> UTCTime? { utc(at: instant)?.rounded }

  /// Whether the position is dead-reckoned: by the receiver, or by the IMU if the receiver's last epoch has no fix.
  var isReckoned: Bool {
    switch mode {
    case .deadReckoning: true
    case .fused: (fix?.value.mode ?? 0) < 2
    case .none, .attitude, .gnss, .asleep: fix?.value.status == 5
    }
  }

  /// The mode of the position: 3 with a height, 2 without. Without a position it is 1 if the receiver reports that it
  /// has no fix, and 0 if the receiver reports nothing.
  ///
  /// The fused position decides, not the receiver's last epoch. Under a bridge or in a tunnel the epoch may have no
  /// fix while the position is known well.
  var positionMode: Int {
    guard mode != .asleep, let position = position?.value else { return min(fix?.value.mode ?? 0, 1) }
    let hasHeight = position.altitudeHAEMetres != nil || position.altitudeMSLMetres != nil
    // Without fusion, only the receiver knows whether its height is measured or assumed.
    if mode == .gnss, let fix, fix.value.mode >= 2 { return min(fix.value.mode, hasHeight ? 3 : 2) }
    return hasHeight ? 3 : 2
  }
}

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
