import Fusion
import MonotonicTime
import Outputs

/// The state as a panel that is drawn over itself.
struct StateView {
  private var height = 0

  /// The text that replaces the frame before.
  mutating func frame(_ state: FusedState) -> String {
    let lines = lines(state)
    // Up to the first line of the frame before, and clear from there on.
    let rewind = height > 0 ? "\u{1B}[\(height)A\u{1B}[J" : ""
    height = lines.count
    return rewind + lines.joined(separator: "\n")
  }

  private func lines(_ state: FusedState) -> [String] {
    var lines = ["mode          \(mode(state))"]
    if let position = state.position {
      let value = position.value
      lines.append(
        "position      \(Text.fixed(value.latitudeDegrees, 7)), \(Text.fixed(value.longitudeDegrees, 7))  \(origin(position, state))"
      )
      let sigma = value.horizontalSigmaMetres.map { "±\(Text.fixed($0, 1)) m" } ?? "accuracy unknown"
      lines.append(
        "altitude      \(value.altitudeMSLMetres.map { "\(Text.fixed($0, 1)) m above the sea" } ?? "unknown")\(value.verticalSigmaMetres.map { " ±\(Text.fixed($0, 1)) m" } ?? ""), \(sigma)"
      )
    } else {
      lines.append("position      unknown")
    }
    if let motion = state.motion {
      let track = motion.value.trackDegrees.map { ", course \(Text.fixed($0, 0))°" } ?? ""
      lines.append(
        "speed         \(Text.fixed(motion.value.speedMetresPerSecond, 2)) m/s\(track)  \(origin(motion, state))")
    }
    if let attitude = state.attitude {
      let degrees = 180 / Double.pi
      let quaternion = attitude.value.quaternion
      lines.append(
        "roll, pitch   \(Text.fixed(quaternion.roll * degrees, 1))°, \(Text.fixed(quaternion.pitch * degrees, 1))°  \(origin(attitude, state))"
      )
      let heading = quaternion.yaw * degrees
      lines.append(
        attitude.value.headingSigmaRadians.map {
          "heading       \(Text.fixed(heading < 0 ? heading + 360 : heading, 0))° ±\(Text.fixed($0 * degrees, 0))°"
        } ?? "heading       unknown until it moves")
    } else {
      lines.append("attitude      unknown")
    }
    if let air = state.air {
      let humidity = air.value.humidityPercent.map { ", \(Text.fixed($0, 0)) % humidity" } ?? ""
      lines.append(
        "air           \(Text.fixed(air.value.pressurePascals / 100, 2)) hPa, "
          + "\(Text.fixed(air.value.temperatureCelsius, 1)) °C\(humidity)  \(origin(air, state))")
    }
    if let supply = state.supply {
      lines.append(
        "supply        \(Text.fixed(supply.value.volts, 2)) V, \(Text.fixed(supply.value.amperes, 3)) A, "
          + "\(Text.fixed(supply.value.watts, 2)) W  \(origin(supply, state))")
    }
    if let fix = state.fix {
      let satellites = fix.value.satellitesUsed.map { ", \($0) satellites" } ?? ""
      lines.append(
        "fix           \(["unknown", "none", "2D", "3D"][min(max(fix.value.mode, 0), 3)])\(satellites)  \(origin(fix, state))"
      )
    }
    return lines
  }

  private func mode(_ state: FusedState) -> String {
    let word = StateLine.word(state.mode)
    return state.deadReckoningSince.map { "\(word) for \(Text.fixed((state.at - $0).inSeconds, 1)) s" } ?? word
  }

  private func origin<Value>(_ part: Dated<Value>, _ state: FusedState) -> String {
    "(\(state.devices.text(part.source)), \(Text.fixed((state.at - part.at).inSeconds, 2)) s ago)"
  }
}
