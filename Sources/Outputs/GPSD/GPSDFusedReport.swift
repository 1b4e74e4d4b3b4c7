import Devices
import Fusion
import Glibc
import MonotonicTime
import NMEA

/// The fused state in the gpsd protocol's objects.
extension GPSDReport {
  /// gpsd's status code for dead reckoning.
  private static let deadReckoning = 5
  /// The error that gpsd reports for NMEA times, in seconds.
  private static let timeError = 0.005
  private static let degrees = 180 / Double.pi

  /// Writes a `TPV` with the fused mode, position and motion, and their UTC time.
  ///
  /// Errors are 95 % values: `epx`, `epy` and `epv` are those along an axis, `eph` in the plane, `sep` in space,
  /// `eps` of the speed, `epc` of the climb, and `epd` of the course.
  ///
  /// - Parameter reception: the receiver's last epoch, for values that are not fused
  static func writePositionObject(
    _ state: FusedState, reception: GNSSObservation? = nil, device: String, to json: inout JSONWriter
  ) {
    let mode = state.positionMode
    json.beginObject()
    json.member("class", literal: "TPV")
    json.member("device", device)
    let status = state.isReckoned ? deadReckoning : state.fix?.value.status ?? 0
    // gpsd omits the statuses 0 (unknown) and 1 (GNSS), and any status without a position.
    if mode >= 2, status > 1 { json.member("status", status) }
    json.member("mode", mode)
    if let time = state.positionTime {
      json.member("time", time: JSONTime(time))
      json.member("ept", timeError, decimals: 3)
    }
    if mode >= 2, let position = state.position?.value {
      writePlace(position, to: &json)
      writeMotion(state, at: position, reception?.fix, to: &json)
    }
    json.member("jam", state.fix?.value.reception.jammingIndicator.map(Int.init))
    json.endObject()
  }

  private static func writePlace(_ position: FusedState.Position, to json: inout JSONWriter) {
    json.member("lat", position.latitudeDegrees, decimals: 9)
    json.member("lon", position.longitudeDegrees, decimals: 9)
    json.member("altHAE", position.altitudeHAEMetres, decimals: 4)
    json.member("altMSL", position.altitudeMSLMetres, decimals: 4)
    json.member("alt", position.altitudeMSLMetres ?? position.altitudeHAEMetres, decimals: 4)
    // The fused state has one sigma for both horizontal axes.
    let axis = position.horizontalSigmaMetres.map { $0 * Confidence.axis }
    json.member("epx", axis, decimals: 3)
    json.member("epy", axis, decimals: 3)
    json.member("epv", position.verticalSigmaMetres.map { $0 * Confidence.axis }, decimals: 3)
    json.member("eph", position.horizontalSigmaMetres.map { $0 * Confidence.radial }, decimals: 3)
    if let horizontal = position.horizontalSigmaMetres, let vertical = position.verticalSigmaMetres {
      let spherical = Confidence.spherical(horizontal: horizontal, vertical: vertical)
      json.member("sep", spherical, decimals: 3)
      if position.altitudeHAEMetres != nil { json.member("ecefpAcc", spherical, decimals: 4) }
    }
    if let hae = position.altitudeHAEMetres {
      json.member("geoidSep", position.altitudeMSLMetres.map { hae - $0 }, decimals: 3)
      let place = Coordinate(latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees)
      let centred = EarthCentredPoint(place, altitudeHAEMetres: hae).metres
      json.member("ecefx", centred.x, decimals: 4)
      json.member("ecefy", centred.y, decimals: 4)
      json.member("ecefz", centred.z, decimals: 4)
    }
  }

  private static func writeMotion(
    _ state: FusedState, at position: FusedState.Position, _ fix: GNSSFix?, to json: inout JSONWriter
  ) {
    let place = Coordinate(latitudeDegrees: position.latitudeDegrees, longitudeDegrees: position.longitudeDegrees)
    let variation = fix?.magneticVariationDegrees ?? state.magneticVariationDegrees(at: position)
    json.member("magvar", variation, decimals: 1)
    if let motion = state.motion?.value {
      json.member("track", bearing: motion.trackDegrees, decimals: 4)
      json.member("magtrack", bearing: motion.trackDegrees.map { $0 - variation }, decimals: 4)
      json.member("speed", motion.speedMetresPerSecond, decimals: 3)
      json.member("climb", motion.climbMetresPerSecond, decimals: 3)
      writeMotionErrors(motion, fix, to: &json)
      if let velocity = motion.velocity {
        json.member("velN", velocity.x, decimals: 3)
        json.member("velE", velocity.y, decimals: 3)
        if motion.climbMetresPerSecond != nil {
          json.member("velD", velocity.z, decimals: 3)
          let centred = EarthCentredPoint(place, altitudeHAEMetres: 0).earthCentred(northEastDown: velocity)
          json.member("ecefvx", centred.x, decimals: 2)
          json.member("ecefvy", centred.y, decimals: 2)
          json.member("ecefvz", centred.z, decimals: 2)
        }
      }
    }
    guard let fix else { return }
    json.member("dgpsAge", fix.differentialAgeSeconds, decimals: 1)
    json.member("dgpsSta", fix.differentialStation.map(Int.init))
    json.member("depth", fix.depthMetres, decimals: 3)
    json.member("wtemp", fix.waterTemperatureCelsius, decimals: 3)
  }

  /// Writes the errors of the fused velocity if its sigma is known, otherwise the receiver's own.
  private static func writeMotionErrors(_ motion: FusedState.Motion, _ fix: GNSSFix?, to json: inout JSONWriter) {
    guard let sigma = motion.horizontalSigmaMetresPerSecond else {
      json.member("epd", fix?.trackErrorDegrees, decimals: 4)
      json.member("eps", fix?.speedErrorMetresPerSecond, decimals: 2)
      return
    }
    let speed = motion.speedMetresPerSecond
    if motion.trackDegrees != nil {
      json.member("epd", atan2(sigma * Confidence.axis, speed) * degrees, decimals: 4)
    }
    json.member("eps", Confidence.speed(speed, sigma: sigma), decimals: 3)
    if motion.climbMetresPerSecond != nil {
      json.member("epc", motion.verticalSigmaMetresPerSecond.map { $0 * Confidence.axis }, decimals: 3)
    }
  }

  /// Writes an `ATT` and an `IMU`, if there are values for them, with their UTC time.
  ///
  /// Both objects name the IMU, and use the vehicle's axes: x forward, y right, z down.
  static func writeAttitude(_ state: FusedState, device: String, to json: inout JSONWriter) {
    if let attitude = state.attitude {
      let quaternion = attitude.value.quaternion
      json.beginObject()
      json.member("class", literal: "ATT")
      json.member("device", device)
      json.member("time", time: state.utc(at: attitude.at).map(JSONTime.init))
      if attitude.value.headingSigmaRadians != nil {
        let yaw = quaternion.yaw * degrees
        json.member("heading", bearing: yaw, decimals: 3)
        json.member("mheading", bearing: state.magneticHeading()?.degrees, decimals: 3)
        json.member("yaw", yaw, decimals: 3)
      }
      json.member("pitch", quaternion.pitch * degrees, decimals: 3)
      json.member("roll", quaternion.roll * degrees, decimals: 3)
      // The rate of turn is the rate about the vertical, even if the board is tilted.
      json.member("rot", state.rates.map { quaternion.rotate($0.value).z * degrees * 60 }, decimals: 3)
      writeVectors(state, to: &json)
      json.endObject()
      json.endLine()
    }
    if let rates = state.rates, state.acceleration != nil {
      json.beginObject()
      json.member("class", literal: "IMU")
      json.member("device", device)
      json.member("time", time: state.utc(at: rates.at).map(JSONTime.init))
      writeVectors(state, to: &json)
      json.endObject()
      json.endLine()
    }
  }

  private static func writeVectors(_ state: FusedState, to json: inout JSONWriter) {
    if let acceleration = state.acceleration?.value {
      let length = (acceleration * acceleration).sum().squareRoot()
      json.member("acc_len", length, decimals: 4)
      json.member("acc_x", acceleration.x, decimals: 4)
      json.member("acc_y", acceleration.y, decimals: 4)
      json.member("acc_z", acceleration.z, decimals: 4)
    }
    if let rates = state.rates?.value {
      json.member("gyro_x", rates.x * degrees, decimals: 4)
      json.member("gyro_y", rates.y * degrees, decimals: 4)
      json.member("gyro_z", rates.z * degrees, decimals: 4)
    }
    // The unit is microtesla; gpsd itself passes on the unit of its receivers.
    if let field = state.magneticField?.value {
      let length = (field * field).sum().squareRoot()
      if let attitude = state.attitude?.value, length > 0 {
        json.member("dip", asin(attitude.quaternion.rotate(field).z / length) * degrees, decimals: 3)
      }
      json.member("mag_len", length, decimals: 3)
      json.member("mag_x", field.x, decimals: 3)
      json.member("mag_y", field.y, decimals: 3)
      json.member("mag_z", field.z, decimals: 3)
    }
  }
}

extension FusedState {
  /// The UTC time of a `TPV`: the position's, or the epoch's if there is no position.
  var positionTime: UTCTime? { (position?.at ?? fix?.at).flatMap { utc(at: $0) } }
}
