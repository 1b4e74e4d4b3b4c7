import Devices
import Fusion
import Glibc
import Hub
import NMEA

/// The fused state as sentences: RMC, GGA, VTG, GST, HDT, HDG, ROT, XDR and PASHR; a sentence without values is
/// omitted, except an RMC that reports no position. The receiver's satellites follow as GSA and GSV; they are not
/// fused.
enum FusedSentences {
  private static let degrees = 180 / Double.pi
  /// The gpsd protocol's status for dead reckoning.
  private static let deadReckoning = 5

  /// Collects the sentences of a state, except those that the board file does not choose.
  private struct Chosen {
    let choice: SentenceChoice
    var text = ""

    mutating func add(_ talker: String, _ name: String, _ fields: @autoclosure () -> String) {
      if choice.contains(name) { text += SentenceWriter.make("\(talker)\(name),\(fields())") }
    }
  }

  /// An RMC that reports no position.
  static let noPosition = SentenceWriter.make("GPRMC,,V,,,,,,,,,,N")

  /// Returns the sentences of a state. The status in RMC is A with a position, otherwise V. Dead reckoning has the mode
  /// indicator E and the quality 6. The time in a sentence is that of its position or attitude.
  ///
  /// - Parameters:
  ///   - choice: the sentences to include, by their names
  ///   - listing: the receiver's epoch whose satellites are due; `nil` if none are
  ///   - repeatsPosition: whether this position, or one with the same time, was already sent; the sentences with the
  ///     position are then omitted
  ///   - repeatsAttitudeTime: whether an attitude with the same time was already sent; PASHR, which contains the time,
  ///     is then omitted
  static func make(
    of state: FusedState, only choice: SentenceChoice = .all, listing epoch: GNSSObservation? = nil,
    repeatsPosition: Bool = false, repeatsAttitudeTime: Bool = false
  ) -> String {
    // PASHR comes first. gpsd (for example 3.22) takes the last sentence with a time as the end of an epoch, and would
    // report nothing if PASHR were the last.
    var chosen = Chosen(choice: choice)
    if !repeatsAttitudeTime, let attitude = state.attitude { addPASHR(of: state, attitude, to: &chosen) }
    if !repeatsPosition {
      if let position = state.position {
        addPosition(of: state, position, to: &chosen)
      } else if choice.contains("RMC") {
        chosen.text += noPosition
      }
    }
    if let epoch {
      if choice.contains("GSA") { chosen.text += SatelliteSentences.used(epoch, mode: state.positionMode) }
      if choice.contains("GSV") { chosen.text += SatelliteSentences.inView(epoch.sky) }
    }
    if let attitude = state.attitude?.value { addAttitude(of: state, attitude, to: &chosen) }
    if let air = state.air?.value { addAir(air, to: &chosen) }
    if let supply = state.supply?.value {
      let amperes = SentenceField.fixed(supply.amperes, 3)
      chosen.add("II", "XDR", "U,\(SentenceField.fixed(supply.volts, 2)),V,SUPPLY,I,\(amperes),A,SUPPLY")
    }
    return chosen.text
  }

  private static func addAttitude(of state: FusedState, _ attitude: FusedState.Attitude, to chosen: inout Chosen) {
    let quaternion = attitude.quaternion
    if let heading = attitude.headingDegrees {
      chosen.add("HE", "HDT", "\(SentenceText.bearing(heading, 1)),T")
      // HDG contains the magnetic heading. Its deviation field is empty, because the heading has no deviation left to
      // correct.
      if let magnetic = state.magneticHeading() {
        let variation = magnetic.variationDegrees.map { SentenceText.eastOrWest($0) } ?? ","
        chosen.add("HC", "HDG", "\(SentenceText.bearing(magnetic.degrees, 1)),,,\(variation)")
      }
    }
    if let rates = state.rates?.value {
      // The rate of turn is the rate about the vertical, even if the board is tilted.
      let turn = quaternion.rotate(rates).z * degrees * 60
      chosen.add("TI", "ROT", "\(SentenceField.fixed(turn, 1)),A")
    }
    let pitch = SentenceField.fixed(quaternion.pitch * degrees, 1)
    let roll = SentenceField.fixed(quaternion.roll * degrees, 1)
    chosen.add("YX", "XDR", "A,\(pitch),D,PTCH,A,\(roll),D,ROLL")
  }

  /// Adds pressure, temperature and humidity, with the transducer names that chart plotters recognize.
  private static func addAir(_ air: FusedState.Air, to chosen: inout Chosen) {
    var fields = ["P,\(SentenceField.fixed(air.pressurePascals / 1e5, 5)),B,Barometer"]
    fields.append("C,\(SentenceField.fixed(air.temperatureCelsius, 1)),C,TempAir")
    if let humidity = air.humidityPercent { fields.append("H,\(SentenceField.fixed(humidity, 1)),P,Humidity") }
    chosen.add("WI", "XDR", fields.joined(separator: ","))
  }

  /// Adds a PASHR if its time is known. The time in its first field distinguishes it from Ashtech's other sentences
  /// of that name.
  private static func addPASHR(
    of state: FusedState, _ part: Dated<FusedState.Attitude>, to chosen: inout Chosen
  ) {
    guard let utc = state.utc(at: part.at) else { return }
    let attitude = part.value
    let heading = attitude.headingDegrees
    let inclination = SentenceText.sigma(attitude.inclinationSigmaRadians * degrees, 3)
    let fields = [
      SentenceField.time(utc), heading.map { SentenceText.bearing($0, 2) } ?? "", "T",
      SentenceField.fixed(attitude.quaternion.roll * degrees, 2),
      SentenceField.fixed(attitude.quaternion.pitch * degrees, 2), "", inclination, inclination,
      attitude.headingSigmaRadians.map { SentenceText.sigma($0 * degrees, 3) } ?? "", "\(pashrQuality(state))",
      heading == nil ? "0" : "1",
    ]
    chosen.add("", "PASHR", fields.joined(separator: ","))
  }

  /// The quality in PASHR: 0 without a position, 2 for an RTK fixed solution, 1 otherwise.
  private static func pashrQuality(_ state: FusedState) -> Int {
    if state.position == nil { return 0 }
    return !state.isReckoned && state.fix?.value.status == 3 ? 2 : 1
  }

  private static func addPosition(
    of state: FusedState, _ part: Dated<FusedState.Position>, to chosen: inout Chosen
  ) {
    let position = part.value
    let motion = state.motion?.value
    let utc = state.utc(at: part.at)
    let time = utc.map { SentenceField.time($0) } ?? ""
    let date = utc.map { SentenceField.date($0) } ?? ""
    let place = SentenceField.coordinate(position.latitudeDegrees, position.longitudeDegrees)
    let knots = motion.map { SentenceText.knots($0.speedMetresPerSecond) } ?? ""
    let track = motion?.trackDegrees.map { SentenceText.bearing($0, 1) } ?? ""
    // The receiver's status distinguishes, for example, a simulated fix or the receiver's own dead reckoning.
    let status = state.isReckoned ? FusedSentences.deadReckoning : state.fix?.value.status ?? 1
    let indicator = FixLetter.mode(ofStatus: status)
    let variation = state.magneticVariationDegrees(at: position)
    let side = SentenceText.eastOrWest(variation)
    chosen.add("GP", "RMC", "\(time),A,\(place),\(knots),\(track),\(date),\(side),\(indicator)")
    let quality = FixLetter.quality(ofStatus: status)
    let used = state.fix?.value.satellitesUsed.map { SentenceField.padded($0, 2) } ?? ""
    let hdop = state.fix?.value.hdop.map { SentenceField.fixed($0, 1) } ?? ""
    let altitude = position.altitudeMSLMetres.map { SentenceText.altitude($0) } ?? ""
    var separation = ""
    if let hae = position.altitudeHAEMetres, let msl = position.altitudeMSLMetres {
      separation = SentenceField.fixed(hae - msl, 1)
    }
    chosen.add("GP", "GGA", "\(time),\(place),\(quality),\(used),\(hdop),\(altitude),M,\(separation),M,,")
    if let motion {
      let kilometres = SentenceField.fixed(motion.speedMetresPerSecond * 3.6, 2)
      let magnetic = motion.trackDegrees.map { SentenceText.bearing($0 - variation, 1) } ?? ""
      chosen.add("GP", "VTG", "\(track),T,\(magnetic),M,\(knots),N,\(kilometres),K,\(indicator)")
    }
    if let axis = position.horizontalSigmaMetres.map({ SentenceText.sigma($0, 2) }) {
      // The state has one sigma for north and east, so the ellipse is a circle without an orientation. The range errors
      // stay empty, because only the receiver knows them.
      let vertical = position.verticalSigmaMetres.map { SentenceText.sigma($0, 2) } ?? ""
      chosen.add("GP", "GST", "\(time),,\(axis),\(axis),0.0,\(axis),\(axis),\(vertical)")
    }
  }
}

extension FusedState.Attitude {
  /// The heading from true north; `nil` while it is unknown.
  fileprivate var headingDegrees: Double? { headingSigmaRadians == nil ? nil : quaternion.yaw * 180 / .pi }
}
