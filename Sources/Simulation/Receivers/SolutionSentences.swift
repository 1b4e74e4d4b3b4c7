import MonotonicTime
import NMEA

/// The NMEA sentences for a solution.
struct SolutionSentences: Sendable {
  enum Kind: CaseIterable, Sendable {
    case gga, gll, gsa, gsv, rmc, vtg, gst, zda
  }

  let solution: Solution
  /// Whether to use NMEA 4.10 and later, which identify systems and signals.
  let isModern: Bool

  /// - Parameter isModern: `false` for NMEA 2.3
  init(_ solution: Solution, isModern: Bool) {
    self.solution = solution
    self.isModern = isModern
  }

  func callAsFunction(_ kinds: [Kind]) -> [UInt8] { Array(kinds.map(sentence).joined().utf8) }

  private var systems: [SatelliteSystem] {
    let present = Set(solution.satellites.map(\.system))
    let order: [SatelliteSystem] = [.gps, .glonass, .galileo, .beidou]
    return order.filter { present.contains($0) }
  }

  private var talker: String { systems.count == 1 && !isModern ? systems[0].talker : "GN" }
  private var time: String { solution.hasTime ? SentenceField.time(solution.utc) : "" }
  private var date: String { solution.hasTime ? SentenceField.date(solution.utc) : "" }
  private var position: String {
    solution.hasFix ? SentenceField.coordinate(solution.latitudeDegrees, solution.longitudeDegrees) : ",,,"
  }
  private var course: String { solution.groundSpeed > 0.2 ? SentenceField.fixed(solution.trackDegrees, 2) : "" }
  private var knots: String { SentenceField.fixed(solution.groundSpeed * 3600 / 1852, 3) }
  private var mode: String {
    guard solution.hasFix else { return "N" }
    return switch solution.correction {
    // The letter S marks the position as simulated.
    case .none: "S"
    case .float: "F"
    case .fixed: "R"
    }
  }

  private func sentence(_ kind: Kind) -> String {
    switch kind {
    case .gga: gga
    case .gll: SentenceWriter.make("\(talker)GLL,\(position),\(time),\(solution.hasFix ? "A" : "V"),\(mode)")
    case .gsa: gsa
    case .gsv: systems.map(gsv).joined()
    case .rmc: rmc
    case .vtg: vtg
    case .gst: gst
    case .zda: zda
    }
  }

  private var rmc: String {
    let motion = solution.hasFix ? "A,\(position),\(knots),\(course)" : "V,,,,,,"
    return SentenceWriter.make("\(talker)RMC,\(time),\(motion),\(date),,,\(mode)\(isModern ? ",V" : "")")
  }

  private var vtg: String {
    guard solution.hasFix else { return SentenceWriter.make("\(talker)VTG,,,,,,,,,N") }
    let speed = SentenceField.fixed(solution.groundSpeed * 3.6, 3)
    return SentenceWriter.make("\(talker)VTG,\(course),T,,M,\(knots),N,\(speed),K,\(mode)")
  }

  private var gga: String {
    guard solution.hasFix else { return SentenceWriter.make("\(talker)GGA,\(time),,,,,0,00,99.99,,,,,,") }
    let separation = solution.separationMetres
    let altitude = SentenceField.fixed(solution.altitudeHAEMetres - separation, 1)
    let count = SentenceField.padded(min(solution.satellites.count, 12), 2)
    let quality = [8, 5, 4][Int(solution.correction.rawValue)]
    let age = solution.correction == .none ? "," : "\(SentenceField.fixed(solution.correctionAge.inSeconds, 1)),0041"
    return SentenceWriter.make(
      "\(talker)GGA,\(time),\(position),\(quality),\(count),0.90,\(altitude),M,\(SentenceField.fixed(separation, 1)),M,\(age)"
    )
  }

  private var gsa: String {
    guard solution.hasFix else {
      return SentenceWriter.make("\(talker)GSA,A,1,,,,,,,,,,,,,99.99,99.99,99.99\(isModern ? ",1" : "")")
    }
    return systems.map { system in
      let used = solution.satellites.filter { $0.system == system }.prefix(12).map {
        SentenceField.padded($0.nmeaNumber, 2)
      }
      let places = (used + [String](repeating: "", count: 12 - used.count)).joined(separator: ",")
      let identifier = isModern ? ",\(system.nmeaIdentifier)" : ""
      return SentenceWriter.make("\(talker)GSA,A,3,\(places),1.60,0.90,1.32\(identifier)")
    }.joined()
  }

  private func gsv(_ system: SatelliteSystem) -> String {
    let seen = solution.satellites.filter { $0.system == system }
    let count = (seen.count + 3) / 4
    return (0..<count).map { page in
      let four = seen[(page * 4)..<min(page * 4 + 4, seen.count)].map { satellite in
        ",\(SentenceField.padded(satellite.nmeaNumber, 2)),\(SentenceField.padded(satellite.elevationDegrees, 2)),"
          + "\(SentenceField.padded(satellite.azimuthDegrees, 3)),\(satellite.carrierToNoise)"
      }.joined()
      let head = "\(system.talker)GSV,\(count),\(page + 1),\(SentenceField.padded(seen.count, 2))"
      return SentenceWriter.make("\(head)\(four)\(isModern ? ",1" : "")")
    }.joined()
  }

  private var gst: String {
    guard solution.hasFix else { return SentenceWriter.make("\(talker)GST,\(time),,,,,,,") }
    let sigma = SentenceField.fixed(solution.sigmaMetres, 1)
    let vertical = SentenceField.fixed(solution.sigmaMetres * Solution.verticalScale, 1)
    return SentenceWriter.make("\(talker)GST,\(time),6.0,,,,\(sigma),\(sigma),\(vertical)")
  }

  private var zda: String {
    guard solution.hasTime else { return SentenceWriter.make("\(talker)ZDA,,,,,,") }
    let day = solution.utc.components.date
    let date = "\(SentenceField.padded(Int(day.day), 2)),\(SentenceField.padded(Int(day.month), 2)),\(day.year)"
    return SentenceWriter.make("\(talker)ZDA,\(time),\(date),00,00")
  }
}
