import Fusion
import Glibc
import NMEA

/// The fused state as sentences: RMC, GGA, VTG, HDT, ROT and XDR, each where there is something to say.
enum FusedSentences {
  private static let degrees = 180 / Double.pi
  private static let knot = 1852.0 / 3600

  /// An RMC that says there is none.
  static let noPosition = SentenceWriter.make("GPRMC,,V,,,,,,,,,,N")

  /// Mode and position are the fused ones: A, with the mode indicator E and the quality 6 while dead reckoning carries them
  /// on, and V only where there is no position at all. The time is that of the position.
  static func make(of state: FusedState) -> String {
    var text = state.position.map { position(of: state, $0) } ?? noPosition
    if let attitude = state.attitude?.value {
      let quaternion = attitude.quaternion
      if attitude.headingSigmaRadians != nil {
        let yaw = quaternion.yaw * degrees
        text += SentenceWriter.make("HEHDT,\(SentenceField.fixed(yaw < 0 ? yaw + 360 : yaw, 1)),T")
      }
      if let rates = state.rates?.value {
        // About the vertical, whichever way the board is tilted.
        let turn = quaternion.rotate(rates).z * degrees * 60
        text += SentenceWriter.make("TIROT,\(SentenceField.fixed(turn, 1)),A")
      }
      let pitch = SentenceField.fixed(quaternion.pitch * degrees, 1)
      let roll = SentenceField.fixed(quaternion.roll * degrees, 1)
      text += SentenceWriter.make("YXXDR,A,\(pitch),D,PTCH,A,\(roll),D,ROLL")
    }
    return text
  }

  private static func position(of state: FusedState, _ part: Dated<FusedState.Position>) -> String {
    let position = part.value
    let motion = state.motion?.value
    let utc = state.utc(at: part.at)
    let time = utc.map { SentenceField.time($0) } ?? ""
    let date = utc.map { SentenceField.date($0) } ?? ""
    let place = SentenceField.coordinate(position.latitudeDegrees, position.longitudeDegrees)
    let knots = motion.map { SentenceField.fixed($0.speedMetresPerSecond / knot, 2) } ?? ""
    let track = motion?.trackDegrees.map { SentenceField.fixed($0, 1) } ?? ""
    // A for autonomous, D for differential, E for estimated, that is dead reckoning.
    let indicator = state.isReckoned ? "E" : (state.fix?.value.status ?? 1) > 1 ? "D" : "A"
    var text = SentenceWriter.make("GPRMC,\(time),A,\(place),\(knots),\(track),\(date),,,\(indicator)")
    let quality = state.isReckoned ? 6 : ggaQuality(state.fix?.value.status ?? 1)
    let used = state.fix?.value.satellitesUsed.map { SentenceField.padded($0, 2) } ?? ""
    let hdop = state.fix?.value.hdop.map { SentenceField.fixed($0, 1) } ?? ""
    let altitude = position.altitudeMSLMetres.map { SentenceField.fixed($0, 1) } ?? ""
    var separation = ""
    if let hae = position.altitudeHAEMetres, let msl = position.altitudeMSLMetres {
      separation = SentenceField.fixed(hae - msl, 1)
    }
    text += SentenceWriter.make("GPGGA,\(time),\(place),\(quality),\(used),\(hdop),\(altitude),M,\(separation),M,,")
    if let motion {
      let kilometres = SentenceField.fixed(motion.speedMetresPerSecond * 3.6, 2)
      text += SentenceWriter.make("GPVTG,\(track),T,,M,\(knots),N,\(kilometres),K,\(indicator)")
    }
    return text
  }

  /// GGA's number for a status of the gpsd protocol.
  private static func ggaQuality(_ status: Int) -> Int {
    switch status {
    case 2: 2
    case 3: 4
    case 4: 5
    default: 1
    }
  }
}
