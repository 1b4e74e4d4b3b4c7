import Fusion
import Glibc
import NMEA

/// The fused state as messages of GDL 90.
enum GDL90Report {
  private static let feet = 1 / 0.3048
  private static let degrees = 180 / Double.pi

  /// A heartbeat; if the position is known, an ownship report, and if the height is known, a geometric altitude. They
  /// are sent once a second.
  static func position(of state: FusedState) -> [GDL90Message] {
    let second = state.position.flatMap { state.utc(at: $0.at) }.map {
      Int($0.nanosecondsSince1970 / 1_000_000_000 % 86_400)
    }
    let heartbeat = GDL90Message.heartbeat(hasPosition: state.position != nil, second: second)
    guard let position = state.position?.value else { return [heartbeat] }
    var own = GDL90Message.Ownship()
    own.latitudeDegrees = position.latitudeDegrees
    own.longitudeDegrees = position.longitudeDegrees
    own.radiusMetres = position.horizontalSigmaMetres.map { $0 * Confidence.radial }
    own.pressureAltitudeFeet = (state.air?.value.pressurePascals).map { pressureAltitudeFeet($0) }
    if let motion = state.motion?.value {
      own.knots = motion.speedMetresPerSecond * 3600 / 1852
      own.trackDegrees = motion.trackDegrees
      own.feetPerMinute = motion.climbMetresPerSecond.map { $0 * feet * 60 }
    }
    var messages = [heartbeat, .ownship(own)]
    if let height = position.altitudeHAEMetres {
      messages.append(.geometricAltitude(feetHAE: height * feet, sigmaMetres: position.verticalSigmaMetres))
    }
    return messages
  }

  /// Roll, pitch and heading. They are sent with each state, at most five times a second.
  static func attitude(of state: FusedState) -> GDL90Message? {
    guard let attitude = state.attitude?.value else { return nil }
    let heading = attitude.headingSigmaRadians == nil ? nil : attitude.quaternion.yaw * degrees
    return .attitude(
      rollDegrees: attitude.quaternion.roll * degrees, pitchDegrees: attitude.quaternion.pitch * degrees,
      headingDegrees: heading.map { $0 < 0 ? $0 + 360 : $0 })
  }

  /// The altitude in the standard atmosphere (ICAO 7488), below 11 km.
  static func pressureAltitudeFeet(_ pascals: Double) -> Double {
    (1 - pow(pascals / 101_325, 0.190_263)) * 44_330.8 * feet
  }
}
