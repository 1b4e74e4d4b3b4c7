import NMEA
import TestSupport
import Testing

/// The headings of receivers with two antennas, in all their formats. Invalid headings are ignored.
struct AntennaHeadingTests {
  private static let gga = nmeaLine("GPGGA,120000.00,4807.0380,N,01131.0000,E,4,12,0.7,400,M,46.9,M,,")

  /// Returns the headings of all epochs, each read in a millisecond.
  private func headings(
    _ reads: [[UInt8]], promptness: EpochAssembler.Promptness = .certain, every interval: Int64 = 1_000_000
  ) -> [AntennaHeading?] {
    var framer = ReceiverFramer()
    var assembler = EpochAssembler(promptness: promptness)
    var headings: [AntennaHeading?] = []
    for (index, read) in reads.enumerated() {
      read.withUnsafeBufferPointer { bytes in
        framer.push(bytes, readAt: Int64(index + 1) * interval) { frame in
          switch frame {
          case .sentence(let raw): assembler.consume(raw) { headings.append($0.fix.antennaHeading) }
          case .message(let message): assembler.consume(message) { headings.append($0.fix.antennaHeading) }
          }
        }
      }
    }
    assembler.finish { headings.append($0.fix.antennaHeading) }
    return headings
  }

  private func last(_ reads: [UInt8]...) -> AntennaHeading? { headings(reads).last ?? nil }

  private func heading(_ lines: String...) -> AntennaHeading? { headings(lines.map { Array($0.utf8) }).last ?? nil }

  /// The lines are from receivers' documents and from logs that users published, with their own checksums.
  @Test(
    arguments: [
      ("$GPHDT,123.456,T*32\r\n", 123.456, nil), ("$GNTHS,341.1344,A*1D\r\n", 341.1344, nil),
      ("$PSTI,036,054314.000,030521,191.69,-16.35,0.00,R*4D\r\n", 191.69, nil),
      (
        "$KSXT,20211016083433.00,116.31296102,39.95817066,49.4911,223.57,-11.32,330.19,0.024,,1,3,28,27,,,,-0.012,0.021,0.020,,*2D\r\n",
        223.57, nil
      ),
      (
        "#UNIHEADINGA,78,GPS,FINE,2428,116060000,0,0,18,11;SOL_COMPUTED,NARROW_INT,1.4773,179.0284,-2.4202,0.0000,0.8259,1.0921,\"999\",27,21,21,15,3,01,3,f3*5d424350\r\n",
        179.0284, 0.8259
      ),
      (
        nmeaLine("PQTMTAR,1,124907.000,4,,1.729,-1.316205,-0.713165,84.344437,0.146003,0.296450,0.045169,00"),
        84.344437, 0.045169
      ),
    ] as [(String, Double, Double?)])
  func `a heading stated with an epoch belongs to it`(_ line: String, _ degrees: Double, _ sigma: Double?) throws {
    // Skytraq's sentence has a time and belongs to the solution of that time.
    let found = try #require(line.hasPrefix("$PSTI") ? heading(line, skytraq) : heading(AntennaHeadingTests.gga, line))
    #expect(found.degrees == degrees && found.sigmaDegrees == sigma)
  }

  private var skytraq: String { nmeaLine("PSTI,030,054314.000,A,4807.0380,N,01131.0000,E,400,0,0,0,030521,R,1.0,9.9") }

  @Test(
    arguments: [
      // Dead reckoning, as published, and no heading.
      "PQTMTAR,1,124907.000,6,,1.729,-1.316205,-0.713165,84.344437,0.146003,0.296450,0.045169,00",
      "PQTMTAR,1,010709.000,0,,0.000,1.985139,-0.924438,,0.003247,0.003242,,00",
      "PQTMTAR,2,124907.000,4,,1.729,-1.316205,-0.713165,84.344437,0.146003,0.296450,0.045169,00",
      "GPHDT,,T", "GPHDT,361,T", "HCHDT,123.4,T", "GNTHS,341.1,V", "GNTHS,341.1,E", "GNTHS,341.1,S", "GNTHS,341.1",
      "PSTI,036,120000.000,281126,191.69,-16.35,0.00,F", "PSTI,036,120000.000,281126,191.69,-16.35,0.00,N",
      "KSXT,20211016083433.00,116.31,39.95,49.4911,223.57,-11.32,330.19,0.024,,3,2,28,27,,,,-0.012,0.021,0.020,,",
      "KSXT,20211016083433.00,116.31,39.95,49.4911,,,330.19,0.024,,3,0,28,27,,,,-0.012,0.021,0.020,,",
    ])
  func `an empty, estimated or unfixed heading is ignored`(_ body: String) {
    #expect(heading(AntennaHeadingTests.gga, nmeaLine(body)) == nil)
  }

  @Test(
    arguments: [
      // The ambiguities are not fixed. The checksum is from the publication.
      "#UNIHEADINGA,93,GPS,FINE,2385,326588000,0,0,18,10;SOL_COMPUTED,NARROW_FLOAT,5.5208,219.9783,24.6813,0.0000,16.4390,35.3287,\"999\",21,9,9,5,3,00,3,13*53e4320d\r\n",
      // A digit was lost in transmission.
      "#UNIHEADINGA,78,GPS,FINE,2428,116060000,0,0,18,11;SOL_COMPUTED,NARROW_INT,1.4773,179.028,-2.4202,0.0000,0.8259,1.0921,\"999\",27,21,21,15,3,01,3,f3*5d424350\r\n",
      "#UNIHEADINGA,78,GPS*5d42\r\n", "#UNIHEADINGA\r\n", "#\r\n",
    ])
  func `a damaged or unfixed log of Unicore gives no heading, and loses no sentence`(_ log: String) {
    let line = nmeaLine("GPHDT,10.5,T")
    #expect(heading(AntennaHeadingTests.gga, log) == nil)
    #expect(heading(AntennaHeadingTests.gga, log, line)?.degrees == 10.5)
    #expect(heading(AntennaHeadingTests.gga, "#" + line)?.degrees == 10.5)
  }

  @Test func `a log that is cut anywhere by reads is understood`() {
    let log = Array(
      "#UNIHEADINGA,78,GPS,FINE,2428,116060000,0,0,18,11;SOL_COMPUTED,NARROW_INT,1.4773,179.0284,-2.4202,0.0000,0.8259,1.0921,\"999\",27,21,21,15,3,01,3,f3*5d424350\r\n"
        .utf8)
    for cut in 0...log.count {
      let found = last(Array(AntennaHeadingTests.gga.utf8), Array(log[..<cut]), Array(log[cut...]))
      #expect(found?.degrees == 179.0284, "\(cut)")
    }
  }

  /// Makes a NAV-RELPOSNED of 64 bytes.
  private func baseline(
    flags: UInt32, degrees: Double = 271.5, accuracy: Double = 0.42, version: UInt8 = 1, second: UInt32 = 5
  ) -> [UInt8] {
    var payload = [UInt8](repeating: 0, count: 64)
    func put(_ value: some FixedWidthInteger & BitwiseCopyable, at offset: Int) {
      payload.replaceSubrange(offset..<offset + value.bitWidth / 8, with: MadeMessage.littleEndian(value))
    }
    payload[0] = version
    put((86_400 + 43_200 + 18 + second) * 1000 as UInt32, at: 4)
    put(Int32((degrees * 1e5).rounded()), at: 24)
    put(UInt32((accuracy * 1e5).rounded()), at: 52)
    put(flags, at: 60)
    return MadeMessage.ubx(0x013C, payload)
  }

  private var solution: [UInt8] {
    MadeMessage.navPVT(
      timeOfWeekMilliseconds: (86_400 + 43_200 + 18 + 5) * 1000, latitudeDegrees: 52, longitudeDegrees: -13, second: 5)
  }

  /// The flags gnssFixOK, diffSoln, relPosValid, carrSoln fixed, isMoving and relPosHeadingValid.
  private static let good: UInt32 = 0b1_0011_0111

  @Test func `the baseline of a moving base is a heading with its accuracy`() throws {
    let found = try #require(last(solution, baseline(flags: Self.good)))
    #expect(abs(found.degrees - 271.5) < 1e-9 && abs((found.sigmaDegrees ?? 0) - 0.42) < 1e-9)
  }

  @Test(arguments: [0, 2, 4, 5, 8]) func `a baseline without one of its flags gives no heading`(_ bit: UInt32) {
    #expect(last(solution, baseline(flags: Self.good & ~(1 << bit))) == nil)
  }

  @Test func `a baseline with float ambiguities, version 0 or no accuracy gives no heading`() {
    let float = Self.good & ~(3 << 3) | 1 << 3
    for message in [
      baseline(flags: float), baseline(flags: Self.good, version: 0), baseline(flags: Self.good, accuracy: 0),
      baseline(flags: Self.good, accuracy: 180), baseline(flags: Self.good, degrees: 361),
    ] { #expect(last(solution, message) == nil) }
  }

  @Test func `a heading belongs to the epoch that it arrives with, and to no later epoch`() {
    func gga(_ second: Int) -> [UInt8] {
      Array(nmeaLine("GPGGA,12000\(second).00,4807.0380,N,01131.0000,E,4,12,0.7,400,M,46.9,M,,").utf8)
    }
    let hdt = Array(nmeaLine("GPHDT,123.4,T").utf8)
    #expect(headings([gga(0) + hdt, gga(1), gga(2)], every: 1_000_000_000).map { $0?.degrees } == [123.4, nil, nil])
    // In a live stream the heading is reported even if it is the sentence that ends an epoch.
    #expect(
      headings([gga(0) + hdt, gga(1) + hdt, gga(2) + hdt], promptness: .learned, every: 1_000_000_000)
        .compactMap { $0?.degrees } == [123.4, 123.4, 123.4])
  }

  /// A u-blox of a moving base without NAV-EOE. Its heading is the last message of each epoch.
  @Test(arguments: [1_000_000_000, 100_000_000] as [Int64])
  func `the baseline after each solution is the heading of that epoch`(_ interval: Int64) {
    var (reads, expected): ([[UInt8]], [Double]) = ([], [])
    for second in 0..<10 as Range<UInt32> {
      let solution = MadeMessage.navPVT(
        timeOfWeekMilliseconds: (129_618 + second) * 1000, latitudeDegrees: 52, longitudeDegrees: -13,
        second: UInt8(second))
      expected.append(200 + Double(second))
      reads.append(solution + baseline(flags: Self.good, degrees: 200 + Double(second), second: second))
    }
    let found = headings(reads, promptness: .learned, every: interval).compactMap { $0?.degrees.rounded() }
    #expect(found == expected)
  }
}
