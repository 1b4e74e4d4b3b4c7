import TestSupport
import Testing

@testable import NMEA

/// Numbers with spaces, signs and missing parts, as some makers print them.
struct FieldFormTests {
  private static let place = "4807.0380,N,01131.0000,E"

  @Test func `blanks at the beginning of a field are ignored`() throws {
    let fix = try #require(
      StatusLetterTests.fix([
        "GPRMC,120000,A,\(FieldFormTests.place),  3.5, 84.4,010626,  3.2,E,A",
        "GPGGA,120000,\(FieldFormTests.place),1, 8, 0.9,  545.4,M,  46.9,M,,",
      ]))
    #expect(fix.mode == .threeDimensional && fix.altitudeMSLMetres == 545.4 && fix.satellitesUsed == 8)
    #expect(abs((fix.speedMetresPerSecond ?? 0) - 3.5 * 1852 / 3600) < 1e-9)
    #expect(fix.trackDegrees == 84.4 && fix.magneticVariationDegrees == 3.2)
  }

  @Test func `blanks are ignored in a time, a coordinate, a letter and a name too`() throws {
    let fix = try #require(
      StatusLetterTests.fix(["GPRMC, 120000, A, 4807.0380, N, 1131.0000, E, 3.5,84.4, 010626,,, A"]))
    #expect(fix.mode == .twoDimensional && fix.time != nil)
    #expect(abs((fix.position?.longitudeDegrees ?? 0) - (11 + 31.0 / 60)) < 1e-9)
    guard case .xdr(let xdr) = parse("IIXDR, A, 1.5, D, ROLL, A, -2.5, D, PITCH ") else { throw Unexpected() }
    #expect(xdr.rollDegrees == 1.5 && xdr.pitchDegrees == -2.5)
  }

  @Test(
    arguments: [
      ("4807.0380,N,01131.0000,E", true), ("4760.0000,N,01131.0000,E", true), ("-4807.0380,N,01131.0000,E", false),
      ("4807.0380,,01131.0000,E", false), ("4807.0380,N,01131.0000,", false), ("4807.0380,X,01131.0000,E", false),
      ("4807.0380,E,01131.0000,N", false), ("4875.0000,N,01131.0000,E", false), ("9100.0000,N,01131.0000,E", false),
      (",N,01131.0000,E", false), ("   ,N,01131.0000,E", false),
    ])
  func `a position has two angles with their letters`(_ place: String, _ isPlace: Bool) throws {
    guard case .gll(let gll) = parse("GPGLL,\(place),120000.00,A,A") else { throw Unexpected() }
    #expect((gll.position != nil) == isPlace)
  }

  @Test(
    arguments: [
      ("020.60,-0.90,", 19.7), ("020.60,-0.90", 19.7), ("020.60,0.50,", 20.6), ("020.60,+0.50,100", 20.6),
      ("020.60,,", 20.6), ("020.60", 20.6), (" 20.6, -0.9,", 19.7), (",-0.90,", nil),
    ] as [(String, Double?)])
  func `a negative offset of DPT is the distance to the keel, and reduces the depth`(
    _ fields: String, _ metres: Double?
  ) throws {
    guard case .depth(let depth) = parse("IIDPT,\(fields)") else { throw Unexpected() }
    #expect(depth.depthMetres.map { ($0 * 1000).rounded() / 1000 } == metres)
  }

  @Test(arguments: ["IIDPT,-7.0,-0.9,", "IIDPT,-7.0,,", "IIDBT,,f,-7.0,M,,F", "IIDBT,-7.0,f,,M,,F"])
  func `a depth is never negative`(_ sentence: String) throws {
    guard case .depth(let depth) = parse(sentence) else { throw Unexpected() }
    #expect(depth.depthMetres == nil)
  }

  @Test(
    arguments: [
      ("8.3e-05", 8.3e-05), ("8.3E-05", 8.3e-05), ("1.25e+01", 12.5), ("7e3", 7000), ("+2.5e1", 25), ("-2.5e1", -25),
      ("1e-30", 0), ("1e-9999", 0), ("0e0", 0), ("1.2500000000000000000000e1", 12.5), ("1e18", 1e18), ("1e308", nil),
      ("1e9999", nil), ("123456789012345678e1", nil), ("e5", nil), ("nan", nil), ("inf", nil), ("0x10", 0),
      // The letter is a unit and not an exponent.
      ("1e", 1), ("1e+", 1), ("2.5E", 2.5),
    ] as [(String, Double?)])
  func `a number may have an exponent`(_ text: String, _ knots: Double?) throws {
    guard case .rmc(let rmc) = parse("GPRMC,120000,A,\(FieldFormTests.place),\(text),84.4,010626,,,A") else {
      throw Unexpected()
    }
    if let knots, let speed = rmc.speedMetresPerSecond {
      #expect(abs(speed - knots * 1852 / 3600) <= abs(knots) * 1e-9)
    } else {
      #expect(rmc.speedMetresPerSecond == nil && knots == nil)
    }
    #expect(rmc.trackDegrees == 84.4, "The next field is not read from where it begins.")
  }

  @Test(arguments: ["120000e0", "120000.00e1", "120000e-3"])
  func `a time has no exponent`(_ time: String) throws {
    guard case .rmc(let rmc) = parse("GPRMC,\(time),A,\(FieldFormTests.place),3.5,84.4,010626,,,A") else {
      throw Unexpected()
    }
    #expect(rmc.time == nil && rmc.isValid && rmc.position != nil)
  }

  @Test func `an angle has no exponent either`() throws {
    guard case .gll(let gll) = parse("GPGLL,4807.0e1,N,01131.0000,E,120000.00,A,A") else { throw Unexpected() }
    #expect(gll.position == nil && gll.time != nil)
  }

  @Test(
    arguments: [
      ("45,120,40", 45, 120, 40), ("-07,360,99", -7, 360, 99), ("91,120,40", 0, 0, 40), ("127,999,255", 0, 0, 0),
      ("45,361,40", 0, 0, 40), ("45,-1,40", 0, 0, 40), (",,", 0, 0, 0), ("45,120,-3", 45, 120, 0),
    ] as [(String, Int8, UInt16, UInt8)])
  func `an impossible direction of a satellite is unknown, and not clamped`(
    _ fields: String, _ elevation: Int8, _ azimuth: UInt16, _ strength: UInt8
  ) throws {
    guard case .gsv(let gsv) = parse("GPGSV,1,1,01,07,\(fields)") else { throw Unexpected() }
    let entry = gsv.satellites[0]
    #expect(gsv.satelliteCount == 1)
    #expect(entry.elevationDegrees == elevation && entry.azimuthDegrees == azimuth && entry.signalStrength == strength)
  }

  @Test(arguments: ["", "1.5", "1.5,2.5", ",2.5,0.5", "1.5,,0.5", "1.5,2.5,"])
  func `a velocity with a missing component is unknown`(_ parts: String) throws {
    let fields = parts + String(repeating: ",", count: 2 - parts.utf8.count { $0 == UInt8(ascii: ",") })
    let fix = try #require(
      StatusLetterTests.fix(["PSTI,030,120000.00,A,\(FieldFormTests.place),545.4,\(fields),010626,A,0.0,0.0"]))
    #expect(fix.mode == .threeDimensional && fix.velocity == nil && fix.speedMetresPerSecond == nil)
    #expect(fix.climbMetresPerSecond == nil)
  }

  @Test(
    arguments: [
      "PUBX,00,120000.00,,,,,545.4,G3,1.0,2.0,12.6,84.4,0.5,,0.9,1.3,1.0,9,0,0",
      "PUBX,00,120000.00,4807.0380,N,,,545.4,D2,1.0,2.0,12.6,84.4,0.5,,0.9,1.3,1.0,9,0,0",
      "PASHR,POS,1,08,120000.00,,,,,545.4,,84.4,3.5,0.5,1.6,0.9,1.3,0.9,x",
      "PGRMF,397,129600,010626,120000,18,,,,,A,2,12.6,84.4,1,1",
    ])
  func `a fix without a position is not a fix`(_ sentence: String) throws {
    let fix = try #require(StatusLetterTests.fix([sentence]))
    #expect(fix.mode == .noFix && fix.position == nil)
  }

  @Test func `a compass with an impossible deviation has no heading`() throws {
    let cases = [("1.0,E", true), (",", true), ("180.0,W", true), ("180.1,W", false), ("999,E", false)]
    for (deviation, isHeading) in cases {
      guard case .heading(let heading) = parse("HCHDG,77.5,\(deviation),3.0,W") else { throw Unexpected() }
      #expect((heading.magneticDegrees != nil) == isHeading, "\(deviation)")
    }
  }

  @Test func `an impossible RMS of residuals is left out, and the position stays`() throws {
    var framer = SentenceFramer()
    var assembler = EpochAssembler(promptness: .certain)
    var statistics: GNSSErrorStatistics?
    let lines = [
      "GPRMC,120000,A,\(FieldFormTests.place),3.5,84.4,010626,,,A", "GPGST,120000,-7.0,4.0,3.0,77.0,1.5,2.5,3.5",
    ]
    var mode = FixMode.unknown
    for line in lines {
      Array("$\(line)\r\n".utf8).withUnsafeBufferPointer { bytes in
        framer.push(bytes) { raw in _ = assembler.consume(raw) { _ in } }
      }
    }
    assembler.finish { (statistics, mode) = ($0.errorStatistics, $0.fix.mode) }
    #expect(statistics?.statistics.rangeRMSMetres == nil && statistics?.statistics.latitudeSigmaMetres == 1.5)
    #expect(mode == .twoDimensional)
  }

  @Test func `if magnetic north is east, the magnetic course is less than the true course`() throws {
    let fix = try #require(
      StatusLetterTests.fix(["GPRMC,120000,A,\(FieldFormTests.place),5.0,90.0,010626,10.0,E,A"]))
    #expect(fix.magneticTrackDegrees == 80)
    let west = try #require(
      StatusLetterTests.fix(["GPRMC,120000,A,\(FieldFormTests.place),5.0,355.0,010626,10.0,W,A"]))
    #expect(west.magneticTrackDegrees == 5)
  }

  @Test func `the variation that a receiver states counts for courses before it in the epoch`() throws {
    let fix = try #require(
      StatusLetterTests.fix([
        "GPGGA,120000,\(FieldFormTests.place),1,9,0.9,545.4,M,46.9,M,,", "GPVTG,90.0,T,,M,5.0,N,9.3,K,A",
        "GPRMC,120000,A,\(FieldFormTests.place),5.0,90.0,010626,10.0,E,A",
      ]))
    #expect(fix.magneticVariationDegrees == 10 && fix.magneticTrackDegrees == 80)
  }

  @Test func `the variation is that of the epoch's date, wherever the date is in the epoch`() throws {
    let gga = "GPGGA,120000,\(FieldFormTests.place),1,9,0.9,545.4,M,46.9,M,,"
    let zda = "GPZDA,120000,01,06,2026,00,00"
    let late = try #require(StatusLetterTests.fix([gga, zda]))
    let early = try #require(StatusLetterTests.fix([zda, gga]))
    let position = try #require(late.position)
    let expected = EarthModel.magneticVariationDegrees(at: position, year: 2026.41)
    let variation = try #require(late.magneticVariationDegrees)
    #expect(abs(variation - expected) < 0.01 && early.magneticVariationDegrees == variation)
  }

  @Test func `a sentence of the evening that arrives after midnight has the previous day`() throws {
    let rmc = "\(FieldFormTests.place),0.5,84.4"
    let fix = try #require(
      StatusLetterTests.fix([
        "GPRMC,235959.00,A,\(rmc),110926,,,A", "GPRMC,000000.00,A,\(rmc),120926,,,A",
        "GPGLL,\(FieldFormTests.place),235959.00,A,A",
      ]))
    #expect(fix.time?.components.date == CalendarDate(year: 2026, month: 9, day: 11))
    let next = try #require(
      StatusLetterTests.fix([
        "GPRMC,000000.00,A,\(rmc),120926,,,A", "GPGLL,\(FieldFormTests.place),235959.00,A,A",
        "GPGLL,\(FieldFormTests.place),000001.00,A,A",
      ]))
    #expect(next.time?.components.date == CalendarDate(year: 2026, month: 9, day: 12))
  }

  @Test(arguments: [EpochAssembler.Promptness.certain, .learned])
  func `a receiver without a fix has the time of its ZDA`(_ promptness: EpochAssembler.Promptness) {
    var framer = SentenceFramer()
    var assembler = EpochAssembler(promptness: promptness)
    var seconds: [Int] = []
    func take(_ epoch: borrowing GNSSEpoch) {
      #expect(epoch.fix.mode <= .noFix)
      if let time = epoch.fix.time { seconds.append(time.components.second) }
    }
    for second in 13..<33 {
      let lines = [
        "GPHDT,,T", "GPGGA,,,,,,0,,,,M,,M,,", "GPVTG,,T,,M,,N,,K,N", "GPZDA,1939\(second).00,07,09,2018,00,00",
      ]
      for line in lines {
        Array(nmeaLine(line).utf8).withUnsafeBufferPointer { bytes in
          framer.push(bytes, readAt: Int64(second) * 1_000_000_000) { raw in _ = assembler.consume(raw) { take($0) } }
        }
      }
    }
    assembler.finish { take($0) }
    // The first epoch may begin with a sentence that has no time yet.
    #expect(Set(seconds).count >= 19, "\(seconds)")
  }

  private struct Unexpected: Error {}

  private func parse(_ text: String) -> Sentence.Content? {
    var framer = SentenceFramer()
    var content: Sentence.Content?
    Array("$\(text)\r\n".utf8).withUnsafeBufferPointer { bytes in
      framer.push(bytes) { raw in content = Sentence(raw)?.content }
    }
    return content
  }
}
