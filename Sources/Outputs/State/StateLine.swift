import Fusion
import MonotonicTime

/// The fused state in one line of text.
public enum StateLine {
  /// The line of a state, for example `fused     52.516312 N 13.377745 E ±0.8 m  11.2 m/s 045°  roll +1.2° pitch -0.4°
  /// ±1.1° heading 046° ±0.4°  8 satellites`
  ///
  /// The number after `±` is one standard deviation of the value before it.
  public static func text(_ state: FusedState) -> String {
    var parts = [Text.padded(word(state.mode), 8)]
    if let since = state.deadReckoningSince { parts.append("for \(Text.fixed((state.at - since).inSeconds, 0)) s") }
    if let position = state.position {
      let value = position.value
      let sigma = value.horizontalSigmaMetres.map { " \(Text.deviation($0)) m" } ?? ""
      parts.append(Text.place(value, decimals: 6) + sigma + stale(state.age(of: position)))
    } else {
      parts.append("no position")
    }
    if let motion = state.motion?.value {
      let track = motion.trackDegrees.map { " \(Text.bearing($0))" } ?? ""
      parts.append("\(Text.fixed(motion.speedMetresPerSecond, 1)) m/s\(track)")
    }
    if let attitude = state.attitude?.value {
      let degrees = 180 / Double.pi
      let heading = attitude.headingSigmaRadians.map {
        "\(Text.bearing(attitude.quaternion.yaw * degrees)) \(Text.deviation($0 * degrees))°"
      }
      parts.append(
        "roll \(signed(attitude.quaternion.roll * degrees)) pitch \(signed(attitude.quaternion.pitch * degrees)) "
          + "\(Text.deviation(attitude.inclinationSigmaRadians * degrees))° heading \(heading ?? "unknown")")
    }
    if let air = state.air?.value { parts.append("\(Text.fixed(air.pressurePascals / 100, 1)) hPa") }
    if let supply = state.supply?.value {
      parts.append("\(Text.fixed(supply.volts, 2)) V \(Text.fixed(supply.amperes, 3)) A")
    }
    if let satellites = state.fix?.value.satellitesUsed { parts.append("\(satellites) satellites") }
    if let reception = state.fix?.value.reception {
      if reception.jamming == .warning || reception.jamming == .critical { parts.append("jammed") }
      if reception.isSpoofed { parts.append("spoofed") }
    }
    if let refusal = state.refusal { parts.append("fixes refused, \(Text.fixed(refusal.metres, 0)) m off") }
    return parts.joined(separator: "  ")
  }

  /// The name of a mode, in one or two words.
  public static func word(_ mode: FusedState.Mode) -> String {
    mode == .deadReckoning ? "dead reckoning" : mode.rawValue
  }

  private static func stale(_ age: Duration?) -> String {
    guard let age, age > .seconds(2) else { return "" }
    return " (\(Text.fixed(age.inSeconds, 0)) s old)"
  }

  private static func signed(_ degrees: Double) -> String {
    (degrees < 0 ? "-" : "+") + Text.fixed(abs(degrees), 1) + "°"
  }
}
