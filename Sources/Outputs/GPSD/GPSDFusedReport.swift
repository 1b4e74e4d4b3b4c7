import Fusion
import MonotonicTime
import NMEA

/// The fused state in the gpsd protocol's objects.
extension GPSDReport {
  /// gpsd's word for a position that dead reckoning carries on.
  private static let deadReckoning = 5
  /// From one standard deviation to the 95 % that gpsd's estimates mean.
  private static let confidence = 1.96

  /// Writes a `TPV`.
  static func writePosition(_ state: FusedState, device: String, to json: inout JSONWriter) {
    let isReckoned = state.mode == .deadReckoning
    json.beginObject()
    json.member("class", literal: "TPV")
    json.member("device", device)
    let status = isReckoned ? deadReckoning : state.fix?.value.status ?? 0
    if status > 1 { json.member("status", status) }
    let hasHeight = state.position?.value.altitudeHAEMetres != nil || state.position?.value.altitudeMSLMetres != nil
    let mode = isReckoned ? (hasHeight ? 3 : 2) : state.fix?.value.mode ?? 0
    json.member("mode", mode)
    if let time = state.utc { json.member("time", time: JSONTime(time)) }
    if mode >= 2, let position = state.position?.value {
      json.member("lat", position.latitudeDegrees, decimals: 9)
      json.member("lon", position.longitudeDegrees, decimals: 9)
      json.member("altHAE", position.altitudeHAEMetres, decimals: 4)
      json.member("altMSL", position.altitudeMSLMetres, decimals: 4)
      json.member("alt", position.altitudeMSLMetres, decimals: 4)
      let horizontal = position.horizontalSigmaMetres.map { $0 * confidence }
      // As far to the east as to the north.
      json.member("epx", horizontal.map { $0 / 2.0.squareRoot() }, decimals: 3)
      json.member("epy", horizontal.map { $0 / 2.0.squareRoot() }, decimals: 3)
      json.member("epv", position.verticalSigmaMetres.map { $0 * confidence }, decimals: 3)
      json.member("track", state.motion?.value.trackDegrees, decimals: 4)
      json.member("speed", state.motion?.value.speedMetresPerSecond, decimals: 3)
      json.member("climb", state.motion?.value.climbMetresPerSecond, decimals: 3)
      if let velocity = state.motion?.value.velocity {
        json.member("velN", velocity.x, decimals: 3)
        json.member("velE", velocity.y, decimals: 3)
        json.member("velD", velocity.z, decimals: 3)
      }
      json.member("eph", horizontal, decimals: 3)
    }
    json.endObject()
    json.endLine()
  }

  /// Writes an `ATT` and an `IMU`, where there is anything to say.
  static func writeAttitude(_ state: FusedState, device: String, to json: inout JSONWriter) {
    let degrees = 180 / Double.pi
    let time = state.utc.map(JSONTime.init)
    if let attitude = state.attitude?.value {
      json.beginObject()
      json.member("class", literal: "ATT")
      json.member("device", device)
      json.member("time", time: time)
      if attitude.headingSigmaRadians != nil {
        let yaw = attitude.quaternion.yaw * degrees
        json.member("heading", yaw < 0 ? yaw + 360 : yaw, decimals: 3)
      }
      json.member("pitch", attitude.quaternion.pitch * degrees, decimals: 3)
      json.member("roll", attitude.quaternion.roll * degrees, decimals: 3)
      json.member("yaw", attitude.headingSigmaRadians.map { _ in attitude.quaternion.yaw * degrees }, decimals: 3)
      json.endObject()
      json.endLine()
    }
    if let rates = state.rates?.value, let acceleration = state.acceleration?.value {
      json.beginObject()
      json.member("class", literal: "IMU")
      json.member("device", device)
      json.member("time", time: time)
      json.member("acc_x", acceleration.x, decimals: 4)
      json.member("acc_y", acceleration.y, decimals: 4)
      json.member("acc_z", acceleration.z, decimals: 4)
      json.member("gyro_x", rates.x * degrees, decimals: 4)
      json.member("gyro_y", rates.y * degrees, decimals: 4)
      json.member("gyro_z", rates.z * degrees, decimals: 4)
      json.endObject()
      json.endLine()
    }
  }
}

extension FusedState {
  /// Now, by the receiver's last time; `nil` before it has stated one.
  var utc: UTCTime? {
    guard let fix, let utc = fix.value.utcNanoseconds else { return nil }
    // With each fix exactly the receiver's own.
    let since = mode == .deadReckoning ? at.nanoseconds - fix.at.nanoseconds : 0
    return UTCTime(nanosecondsSince1970: utc + since)
  }
}
