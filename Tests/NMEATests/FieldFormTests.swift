import TestSupport
import Testing

@testable import NMEA

/// Numbers with blanks, signs and missing parts, as some makers print them.
struct FieldFormTests {
  private static let place = "4807.0380,N,01131.0000,E"

  @Test func `blanks at the beginning of a field are no part of it`() throws {
    let fix = try #require(
      StatusLetterTests.fix([
        "GPRMC,120000,A,\(FieldFormTests.place),  3.5, 84.4,010626,  3.2,E,A",
        "GPGGA,120000,\(FieldFormTests.place),1, 8, 0.9,  545.4,M,  46.9,M,,",
      ]))
    #expect(fix.mode == .threeDimensional && fix.altitudeMSLMetres == 545.4 && fix.satellitesUsed == 8)
    #expect(abs((fix.speedMetresPerSecond ?? 0) - 3.5 * 1852 / 3600) < 1e-9)
    #expect(fix.trackDegrees == 84.4 && fix.magneticVariationDegrees == 3.2)
  }

  @Test func `nor in a time, a coordinate, a letter or a name`() throws {
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
  func `a place has two angles with their letters`(_ place: String, _ isPlace: Bool) throws {
    guard case .gll(let gll) = parse("GPGLL,\(place),120000.00,A,A") else { throw Unexpected() }
    #expect((gll.position != nil) == isPlace)
  }

  @Test(
    arguments: [
      ("020.60,-0.90,", 19.7), ("020.60,-0.90", 19.7), ("020.60,0.50,", 20.6), ("020.60,+0.50,100", 20.6),
      ("020.60,,", 20.6), ("020.60", 20.6), (" 20.6, -0.9,", 19.7), (",-0.90,", nil),
    ] as [(String, Double?)])
  func `a negative offset of DPT is the keel's, under which is less water`(_ fields: String, _ metres: Double?) throws {
    guard case .depth(let depth) = parse("IIDPT,\(fields)") else { throw Unexpected() }
    #expect(depth.depthMetres.map { ($0 * 1000).rounded() / 1000 } == metres)
  }

  @Test func `with magnetic north in the east a magnetic course is less than the true one`() throws {
    let fix = try #require(
      StatusLetterTests.fix(["GPRMC,120000,A,\(FieldFormTests.place),5.0,90.0,010626,10.0,E,A"]))
    #expect(fix.magneticTrackDegrees == 80)
    let west = try #require(
      StatusLetterTests.fix(["GPRMC,120000,A,\(FieldFormTests.place),5.0,355.0,010626,10.0,W,A"]))
    #expect(west.magneticTrackDegrees == 5)
  }

  @Test func `a sentence of the evening that comes after midnight is of the day before`() throws {
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
  func `a receiver without a fix has the time that it tells by ZDA`(_ promptness: EpochAssembler.Promptness) {
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
    // The first epoch may begin with what has no time yet.
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
