import Fusion
import MonotonicTime
import NMEA

/// The fused state as one JSON object. Angles are in degrees, ages and the monotonic stamp in seconds, temperatures
/// in degrees Celsius, the magnetic field in microtesla and the humidity in percent. All other values are in SI
/// units.
///
/// `time` is the UTC of `monotonic`, the time of the state. The age of a part is the time from its measurement to the
/// state. `sigmaHorizontal` is one standard deviation along one horizontal axis, `sigmaVertical` along the vertical.
/// 95 % of the positions are within 2.45 times `sigmaHorizontal` in the plane, and 95 % within 1.96 times
/// `sigmaVertical` in height.
public enum StateReport {
  /// Writes a state.
  ///
  /// - Parameter extra: writes further members
  public static func write(
    _ state: FusedState, to json: inout JSONWriter, extra: (inout JSONWriter) -> Void = { _ in }
  ) {
    json.beginObject()
    json.member("class", literal: "STATE")
    json.key("mode")
    json.string(state.mode.rawValue)
    json.member(
      "deadReckoningSeconds", state.deadReckoningSince.map { (state.at - $0).inSeconds }, decimals: 3)
    json.member("asleepSeconds", state.asleepSince.map { (state.at - $0).inSeconds }, decimals: 1)
    if let utc = state.utc(at: state.at) {
      json.member("time", time: JSONTime(utc))
      json.member("timeConfirmed", state.fix?.value.isTimeConfirmed == true)
    }
    json.member("monotonic", Double(state.at.nanoseconds) / 1e9, decimals: 6)
    writePosition(state, to: &json)
    writeAttitude(state, to: &json)
    writeVector("magneticField", state.magneticField, state, decimals: 3, to: &json)
    if let air = state.air {
      json.key("air")
      json.beginObject()
      json.member("pressure", air.value.pressurePascals, decimals: 2)
      json.member("temperature", air.value.temperatureCelsius, decimals: 2)
      json.member("humidity", air.value.humidityPercent, decimals: 2)
      writeOrigin(air, state, to: &json)
      json.endObject()
    }
    if let supply = state.supply {
      json.key("supply")
      json.beginObject()
      json.member("volts", supply.value.volts, decimals: 3)
      json.member("amperes", supply.value.amperes, decimals: 5)
      writeOrigin(supply, state, to: &json)
      json.endObject()
    }
    if let fix = state.fix {
      json.key("fix")
      json.beginObject()
      json.member("mode", fix.value.mode)
      json.member("time", time: fix.value.utcNanoseconds.map { JSONTime(UTCTime(nanosecondsSince1970: $0)) })
      json.member("status", fix.value.status)
      json.member("satellites", fix.value.satellitesUsed)
      json.member("hdop", fix.value.hdop, decimals: 2)
      json.member("timeSigma", fix.value.timeSigmaSeconds, decimals: 9)
      json.member("correctionAge", fix.value.correctionAgeSeconds, decimals: 1)
      writeReception(fix.value.reception, to: &json)
      if let fusion = fix.value.receiverFusion {
        json.key("receiverFusion")
        json.string(fusion.rawValue)
      }
      writeOrigin(fix, state, to: &json)
      json.endObject()
    }
    if let refusal = state.refusal {
      json.key("refusal")
      json.beginObject()
      json.member("seconds", (state.at - refusal.since).inSeconds, decimals: 3)
      json.member("metres", refusal.metres, decimals: 1)
      json.endObject()
    }
    extra(&json)
    json.endObject()
    json.endLine()
  }

  /// Writes the reports of the receiver about jamming and spoofing, and omits unknown values.
  private static func writeReception(_ reception: Reception, to json: inout JSONWriter) {
    if reception.jamming != .unknown {
      json.key("jamming")
      json.string(reception.jamming.rawValue)
    }
    if reception.spoofing != .unknown {
      json.key("spoofing")
      json.string(reception.spoofing.rawValue)
    }
    json.member("jammingIndicator", reception.jammingIndicator.map(Int.init))
  }

  private static func writePosition(_ state: FusedState, to json: inout JSONWriter) {
    if let position = state.position {
      json.key("position")
      json.beginObject()
      json.member("lat", position.value.latitudeDegrees, decimals: 9)
      json.member("lon", position.value.longitudeDegrees, decimals: 9)
      json.member("altHAE", position.value.altitudeHAEMetres, decimals: 3)
      json.member("altMSL", position.value.altitudeMSLMetres, decimals: 3)
      json.member("sigmaHorizontal", position.value.horizontalSigmaMetres, decimals: 3)
      json.member("sigmaVertical", position.value.verticalSigmaMetres, decimals: 3)
      writeOrigin(position, state, to: &json)
      json.endObject()
    }
    if let motion = state.motion {
      json.key("velocity")
      json.beginObject()
      json.member("speed", motion.value.speedMetresPerSecond, decimals: 3)
      json.member("track", bearing: motion.value.trackDegrees, decimals: 2)
      json.member("climb", motion.value.climbMetresPerSecond, decimals: 3)
      json.member("sigmaHorizontal", motion.value.horizontalSigmaMetresPerSecond, decimals: 3)
      json.member("sigmaVertical", motion.value.verticalSigmaMetresPerSecond, decimals: 3)
      writeOrigin(motion, state, to: &json)
      json.endObject()
    }
  }

  private static func writeAttitude(_ state: FusedState, to json: inout JSONWriter) {
    let degrees = 180 / Double.pi
    if let attitude = state.attitude {
      let quaternion = attitude.value.quaternion
      json.key("attitude")
      json.beginObject()
      json.member("roll", quaternion.roll * degrees, decimals: 3)
      json.member("pitch", quaternion.pitch * degrees, decimals: 3)
      // Without a heading the yaw is omitted, because any number would look valid.
      if let sigma = attitude.value.headingSigmaRadians {
        json.member("yaw", bearing: quaternion.yaw * degrees, decimals: 3)
        json.member("sigmaYaw", sigma * degrees, decimals: 3)
      }
      json.member("sigmaInclination", attitude.value.inclinationSigmaRadians * degrees, decimals: 3)
      json.key("q")
      json.beginArray()
      for component in [quaternion.w, quaternion.x, quaternion.y, quaternion.z] { json.number(component, decimals: 7) }
      json.endArray()
      writeOrigin(attitude, state, to: &json)
      json.endObject()
    }
    writeVector("rates", state.rates, state, decimals: 5, to: &json)
    writeVector("acceleration", state.acceleration, state, decimals: 4, to: &json)
  }

  private static func writeVector(
    _ key: StaticString, _ vector: Dated<SIMD3<Double>>?, _ state: FusedState, decimals: Int, to json: inout JSONWriter
  ) {
    guard let vector else { return }
    json.key(key)
    json.beginObject()
    json.member("x", vector.value.x, decimals: decimals)
    json.member("y", vector.value.y, decimals: decimals)
    json.member("z", vector.value.z, decimals: decimals)
    writeOrigin(vector, state, to: &json)
    json.endObject()
  }

  private static func writeOrigin<Value>(_ part: Dated<Value>, _ state: FusedState, to json: inout JSONWriter) {
    json.member("age", state.age(of: part)?.inSeconds, decimals: 6)
    json.member("source", state.devices.text(part.source))
  }
}
