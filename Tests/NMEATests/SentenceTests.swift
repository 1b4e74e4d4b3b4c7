import Testing

@testable import NMEA

/// One example of each sentence with its parsed values.
struct SentenceTests {
  @Test func `GGA states time, position, quality and altitude`() throws {
    guard case .gga(let gga) = try parse("GPGGA,123519.25,4807.038,N,01131.324,W,2,08,0.9,545.4,M,46.9,M,3.5,0120")
    else { throw Unexpected() }
    #expect(gga.time == TimeOfDay(second: 12 * 3600 + 35 * 60 + 19, nanosecond: 250_000_000))
    #expect(abs(try #require(gga.position).latitudeDegrees - 48.1173) < 1e-9)
    #expect(abs(try #require(gga.position).longitudeDegrees + 11.5220666667) < 1e-9)
    #expect(gga.quality == .differential)
    #expect(gga.satellitesUsed == 8)
    #expect(gga.altitudeMSLMetres == 545.4)
    #expect(gga.geoidSeparationMetres == 46.9)
    #expect(gga.differentialAgeSeconds == 3.5)
    #expect(gga.differentialStation == 120)
  }

  @Test func `RMC states a date, a speed in metres per second and a signed variation`() throws {
    guard case .rmc(let rmc) = try parse("GNRMC,225446.33,A,4916.45,S,12311.12,E,100.0,054.7,290224,020.3,W,A")
    else { throw Unexpected() }
    #expect(rmc.isValid)
    #expect(rmc.date == CalendarDate(year: 2024, month: 2, day: 29))
    #expect(abs(try #require(rmc.speedMetresPerSecond) - 51.4444444) < 1e-6)
    #expect(rmc.magneticVariationDegrees == -20.3)
    #expect(rmc.mode == .autonomous)
    #expect(try #require(rmc.position).latitudeDegrees < 0)
  }

  @Test func `MWV's theoretical angle is off the bow, and no direction`() throws {
    guard case .wind(let wind) = try parse("IIMWV,45.0,T,10.0,M,A") else { throw Unexpected() }
    #expect(wind.trueAngleDegrees == 45 && wind.trueSpeedMetresPerSecond == 10)
    #expect(wind.directionTrueDegrees == nil && wind.relativeAngleDegrees == nil)
  }

  @Test func `empty fields are unknown, not zero`() throws {
    guard case .rmc(let rmc) = try parse("GPRMC,,V,,,,,,,,,,N") else { throw Unexpected() }
    #expect(rmc.time == nil)
    #expect(rmc.position == nil)
    #expect(rmc.speedMetresPerSecond == nil)
    #expect(rmc.date == nil)
  }

  @Test func `GSA has up to twelve or twenty-four satellites, and a system ID`() throws {
    guard case .gsa(let plain) = try parse("GNGSA,A,3,13,16,21,15,10,29,27,20,,,,,1.05,0.64,0.83,1")
    else { throw Unexpected() }
    #expect(plain.satelliteCount == 8)
    #expect(plain.systemID == 1)
    #expect(plain.vdop == 0.83)
    guard
      case .gsa(let long) = try parse(
        "GPGSA,A,3,27,23,13,07,25,,,,,,,,,,,,,,,,,,,,07.9,06.0,05.2")
    else { throw Unexpected() }
    #expect(long.satelliteCount == 5)
    #expect(long.pdop == 7.9)
    guard case .gsa(let sirf) = try parse("GPGSA,A,3,25,32,12,14,,,,,,,,,2.1,1.1,1.8,1.2") else { throw Unexpected() }
    #expect(sirf.systemID == nil)
  }

  @Test func `GSV has NMEA 4.11's signal ID and Quectel's system ID`() throws {
    guard case .gsv(let gsv) = try parse("GAGSV,3,1,09,02,00,179,,04,09,321,33,07,11,134,11,11,10,227,,7")
    else { throw Unexpected() }
    #expect(gsv.signalID == 7)
    #expect(gsv.satelliteCount == 4)
    #expect(gsv.satellites[1] == GSV.Entry(number: 4, elevation: 9, azimuth: 321, strength: 33))
    guard case .gsv(let quectel) = try parse("PQGSV,4,1,15,02,20,116,,03,,,,05,34,137,,07,05,046,,0,4")
    else { throw Unexpected() }
    #expect(quectel.systemID == 4)
    #expect(content("GPGSV,1,1,01,02,00") == nil)
  }

  @Test(
    arguments: [
      ("290,293895,160305,093802,13", 1_110_965_882), ("999999999999999999,293895,160305,093802,13", 1_110_965_882),
      ("290,999999999999999999,160305,093802,13", 1_110_965_882), ("290,293895,160305,093802,-13", 1_110_965_882),
      ("290,293895,160305,093802,999999999999999999", 1_110_965_882), ("-1,293895,,,13", nil),
    ] as [(String, Int64?)])
  func `a Garmin receiver's week counts, and its date only if the week is impossible`(
    _ fields: String, _ second: Int64?
  ) throws {
    guard case .garminFix(let fix) = try parse("PGRMF,\(fields),5213.1439,N,02100.6511,E,A,2,0,226,2,1")
    else { throw Unexpected() }
    #expect(fix.time?.nanosecondsSince1970 == second.map { $0 * 1_000_000_000 })
    #expect(fix.position != nil)
  }

  static let simple: [(String, String)] = [
    ("GPZDA,160012.71,11,03,2004,-1,00", "zda 57612.71 2004-3-11"),
    ("SDDBT,7.7,f,2.3,M,1.3,F", "depth 2.3"),
    ("SDDBT,10,f,,M,,F", "depth 3.048"),
    ("SDDPT,2.5,-0.5,", "depth 2.0"),
    ("HEHDT,341.8,T", "heading 341.8 - -"),
    ("HEHDT,361,T", "heading - - -"),
    ("APHDM,218.634,M", "heading - 218.634 -"),
    ("SDHDG,234.6,1.0,W,1.3,E", "heading - 233.6 1.3"),
    ("SDHDG,359.5,1.0,E,,", "heading - 0.5 -"),
    ("SDHDG,-5,1.0,E,,", "heading - - -"),
    ("GNTHS,121.15,A", "heading 121.15 - -"),
    ("GNTHS,121.15,V", "heading - - -"),
    ("YXMTW,17.2,C", "mtw 17.2"),
    ("APROT,0.013,A", "rot 0.013"),
    ("APROT,0.013,V", "rot -"),
    ("IIMWV,45.0,R,10.0,N,A", "wind 45.0 5.144"),
    ("IIMWV,45.0,R,10.0,N,V", "unknown"),
    ("IIMWV,45.0,,10.0,N,A", "unknown"),
    ("PMTK001,604,3", "ack 604 succeeded"),
    ("PGRMZ,246,f,3", "altitude 74.981 threeDimensional"),
    ("PGRME,15.0,M,45.0,M,25.0,M", "errors 15.0 45.0 25.0"),
    ("PQTMEPE,2,1.593,1.295,3.759,2.053,4.283", "sigmas 1.593 1.295 3.759 2.053 4.283"),
    ("PQTMEPE,1,1.593,1.295,3.759,2.053,4.283", "unknown"),
    ("PQTMEPE,2,,,,,", "unknown"),
    ("PUBX,04,073731.00,091202,113851.00,1196,15D,1930035,-2660.664,43,", "pubx 27451.0 2002-12-9"),
    ("PASHR,085335.000,224.19,T,-01.26,+00.83,+00.10,0.101,0.113,0.267,1,0", "attitude 224.19 -1.26 0.83"),
    ("PASHR,085335.000,-224.19,T,-01.26,+00.83,+00.10,0.101,0.113,0.267,1,0", "attitude - -1.26 0.83"),
    ("GPVTG,360,T,12.5,M,1,N,,K", "courses 360.0 12.5"),
    ("GPVTG,360.1,T,-0.5,M,1,N,,K", "courses - -"),
    ("GPRMC,,A,,,,,1,400,,,,A", "courses - -"),
    ("GPXYZ,1,2,3", "unknown"),
    ("PXXXX,1", "unknown"),
    ("GPGGA,123519", "unknown"),
  ]

  @Test(arguments: simple)
  func `each sentence has the values of its fields`(_ text: String, _ expected: String) {
    #expect(summary(content(text)) == expected)
  }

  private func summary(_ content: Sentence.Content?) -> String {
    func text(_ value: Double?) -> String { value.map { "\(($0 * 1000).rounded() / 1000)" } ?? "-" }
    func text(_ time: TimeOfDay?, _ date: CalendarDate?) -> String {
      guard let time, let date else { return "-" }
      return "\(Double(time.second) + Double(time.nanosecond) / 1e9) \(date.year)-\(date.month)-\(date.day)"
    }
    switch content {
    case .zda(let zda): return "zda \(text(zda.time, zda.date))"
    case .depth(let depth): return "depth \(text(depth.depthMetres))"
    case .heading(let heading):
      return "heading \(text(heading.trueDegrees)) \(text(heading.magneticDegrees)) \(text(heading.variationDegrees))"
    case .mtw(let mtw): return "mtw \(text(mtw.temperatureCelsius))"
    case .rot(let rot): return "rot \(text(rot.degreesPerMinute))"
    case .wind(let wind):
      return "wind \(text(wind.relativeAngleDegrees)) \(text(wind.relativeSpeedMetresPerSecond))"
    case .mediaTekAcknowledgement(let ack): return "ack \(ack.command) \(ack.result)"
    case .garminAltitude(let garmin):
      return "altitude \(text(garmin.altitudeMSLMetres)) \(garmin.mode.map { "\($0)" } ?? "-")"
    case .garminErrorEstimate(let errors):
      return "errors \(text(errors.horizontalMetres)) \(text(errors.verticalMetres)) \(text(errors.sphericalMetres))"
    case .quectelErrorEstimate(let errors):
      return "sigmas \(text(errors.northMetres)) \(text(errors.eastMetres)) \(text(errors.downMetres)) "
        + "\(text(errors.horizontalMetres)) \(text(errors.sphericalMetres))"
    case .pubx(.time(let time, let date)): return "pubx \(text(time, date))"
    case .pashr(.attitude(let attitude)):
      return "attitude \(text(attitude.headingDegrees)) \(text(attitude.rollDegrees)) \(text(attitude.pitchDegrees))"
    case .vtg(let vtg): return "courses \(text(vtg.trackDegrees)) \(text(vtg.magneticTrackDegrees))"
    case .rmc(let rmc): return "courses \(text(rmc.trackDegrees)) -"
    case nil: return "unknown"
    default: return "another sentence"
    }
  }

  @Test func `XDR states pitch and roll, several values per sentence`() throws {
    guard case .xdr(let xdr) = try parse("HCXDR,A,177,D,PITCH,A,-40,D,ROLL,G,358,,MAGX,G,2432,,MAGY,G,-8974,,MAGZ")
    else { throw Unexpected() }
    #expect(xdr.pitchDegrees == 177)
    #expect(xdr.rollDegrees == -40)
    #expect(xdr.magneticZ == -8974)
  }

  @Test(
    arguments: [
      (5, nil, 5, SatelliteSystem.gps, 5), (40, nil, 40, .sbas, 127), (70, nil, 70, .glonass, 6),
      (70, .glonass, 70, .glonass, 6), (6, .glonass, 70, .glonass, 6), (195, nil, 195, .qzss, 3),
      (3, .qzss, 195, .qzss, 3), (12, .galileo, 312, .galileo, 12), (312, nil, 312, .galileo, 12),
      (14, .beidou, 414, .beidou, 14), (214, .beidou, 414, .beidou, 14), (214, nil, 414, .beidou, 14),
      (131, nil, 131, .sbas, 131), (5, .navic, 505, .navic, 5),
    ] as [(Int, SatelliteSystem?, UInt16, SatelliteSystem, UInt8)])
  func `satellites are distinguished in every numbering`(
    _ printed: Int, _ named: SatelliteSystem?, _ extended: UInt16, _ system: SatelliteSystem, _ vehicle: UInt8
  ) throws {
    let number = try #require(SatelliteNumber(printed, system: named))
    #expect(number.extended == extended)
    #expect(number.system == system)
    #expect(number.vehicle == vehicle)
  }

  @Test func `impossible satellite numbers are ignored`() {
    for printed in [0, -1, 110, 160, 270, 1000] { #expect(SatelliteNumber(printed, system: nil) == nil) }
  }

  @Test(arguments: [(1970, 1, 1, 0), (2000, 2, 29, 11016), (2026, 11, 21, 20778), (1999, 12, 31, 10956)])
  func `dates convert to days and back`(_ year: Int, _ month: Int, _ day: Int, _ days: Int) throws {
    let date = try #require(CalendarDate(year: year, month: month, day: day))
    #expect(date.daysSince1970 == days)
    #expect(CalendarDate(daysSince1970: days) == date)
  }

  struct Unexpected: Error {}

  private func parse(_ body: String) throws -> Sentence.Content { try #require(content(body)) }

  private func content(_ body: String) -> Sentence.Content? {
    var result: Sentence?
    var framer = SentenceFramer()
    Array("$\(body)\r\n".utf8).withUnsafeBufferPointer { framer.push($0) { result = Sentence($0) } }
    return result?.content
  }
}
