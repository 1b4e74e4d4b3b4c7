import TestSupport
import Testing

@testable import NMEA

/// The table of Documentation/reference/receivers.md ("Status letters"), row by row: what each status, mode and quality
/// letter means to the hub. Each epoch has one sentence, unless a row has several.
struct StatusLetterTests {
  private static let place = "4807.0380,N,01131.0000,E"

  /// Returns the last epoch of some sentences. They have no checksums, so that the rows are easy to read.
  static func fix(_ sentences: [String], promptness: EpochAssembler.Promptness = .certain) -> GNSSFix? {
    var framer = SentenceFramer()
    var assembler = EpochAssembler(promptness: promptness)
    var fix: GNSSFix?
    for sentence in sentences {
      Array("$\(sentence)\r\n".utf8).withUnsafeBufferPointer { bytes in
        framer.push(bytes) { raw in _ = assembler.consume(raw) { fix = $0.fix } }
      }
    }
    assembler.finish { fix = $0.fix }
    return fix
  }

  private func expect(
    _ sentences: [String], _ mode: FixMode, _ status: FixStatus, location: SourceLocation = #_sourceLocation
  ) {
    let fix = StatusLetterTests.fix(sentences)
    #expect(fix?.mode == mode, "\(sentences)", sourceLocation: location)
    #expect(fix?.status == status, "\(sentences)", sourceLocation: location)
  }

  // MARK: RMC

  @Test(
    arguments: [
      ("A", .twoDimensional), ("D", .twoDimensional), ("V", .noFix), ("", .noFix), ("N", .noFix), ("X", .noFix),
    ] as [(String, FixMode)])
  func `the status of RMC says whether there is a fix`(_ letter: String, _ mode: FixMode) {
    expect(
      ["GNRMC,120000.00,\(letter),\(StatusLetterTests.place),0.50,84.40,010626,0.0,E"], mode,
      mode == .noFix ? .unknown : .gnss)
  }

  static let modes: [(String, FixMode, FixStatus)] = [
    ("A", .twoDimensional, .gnss), ("D", .twoDimensional, .differential), ("E", .twoDimensional, .deadReckoning),
    ("F", .twoDimensional, .rtkFloat), ("M", .twoDimensional, .surveyed), ("P", .twoDimensional, .precise),
    ("R", .twoDimensional, .rtkFixed), ("S", .twoDimensional, .simulated), ("N", .noFix, .unknown),
    ("V", .noFix, .unknown), ("X", .twoDimensional, .gnss), ("", .twoDimensional, .gnss),
  ]

  @Test(arguments: modes)
  func `the mode of RMC states the source of a fix`(_ letter: String, _ mode: FixMode, _ status: FixStatus) {
    expect(["GNRMC,120000.00,A,\(StatusLetterTests.place),0.50,84.40,010626,,,\(letter)"], mode, status)
    // This holds for any navigational status.
    expect(["GNRMC,120000.00,A,\(StatusLetterTests.place),0.50,84.40,010626,,,\(letter),V"], mode, status)
  }

  @Test func `the point where the equator meets the prime meridian is a valid position`() throws {
    let fix = try #require(
      StatusLetterTests.fix(["GPRMC,120000.00,A,0000.0000,N,00000.0000,E,0.50,84.40,010626,,,A"]))
    #expect(fix.mode == .twoDimensional)
    #expect(fix.position == Coordinate(latitudeDegrees: 0, longitudeDegrees: 0))
  }

  @Test func `time and date next to status V are not used`() {
    for place in [StatusLetterTests.place, ",,,"] {
      let fix = StatusLetterTests.fix(["GPRMC,120000.00,V,\(place),,,010626,,,N"])
      #expect(fix?.mode == .noFix && fix?.time == nil)
    }
    // A receiver that knows the time without a fix states it in a ZDA.
    let fix = StatusLetterTests.fix(["GPZDA,120000.00,01,06,2026,00,00", "GPRMC,120000.00,V,,,,,,,010626,,,N"])
    #expect(fix?.mode == .noFix && fix?.time != nil)
  }

  @Test func `the status D of an RTK receiver is a fix, alone and with its GGA`() throws {
    let rmc = "GNRMC,120000.00,D,\(StatusLetterTests.place),0.50,84.40,010626,0.0,E,R,C"
    expect([rmc], .twoDimensional, .rtkFixed)
    let gga = "GNGGA,120000.00,\(StatusLetterTests.place),5,20,0.6,545.4,M,46.9,M,1.0,0001"
    let fix = try #require(StatusLetterTests.fix([gga, rmc]))
    #expect(fix.mode == .threeDimensional && fix.altitudeMSLMetres == 545.4)
  }

  // MARK: GLL

  @Test(
    arguments: [
      ("A", "A", .twoDimensional, .gnss), ("D", "D", .twoDimensional, .differential), ("V", "N", .noFix, .unknown),
      ("A", "N", .noFix, .unknown), ("", "", .noFix, .unknown), ("A", "R", .twoDimensional, .rtkFixed),
      ("A", "S", .twoDimensional, .simulated),
    ] as [(String, String, FixMode, FixStatus)])
  func `a GLL is a fix only if both its status and its mode say so`(
    _ letter: String, _ indicator: String, _ mode: FixMode, _ status: FixStatus
  ) {
    expect(["GNGLL,\(StatusLetterTests.place),120000.00,\(letter),\(indicator)"], mode, status)
  }

  // MARK: GGA

  @Test(
    arguments: [
      ("0", .noFix, .unknown), ("1", .threeDimensional, .gnss), ("2", .threeDimensional, .differential),
      ("3", .threeDimensional, .precise), ("4", .threeDimensional, .rtkFixed), ("5", .threeDimensional, .rtkFloat),
      ("6", .threeDimensional, .deadReckoning), ("7", .threeDimensional, .surveyed),
      ("8", .threeDimensional, .simulated), ("9", .noFix, .unknown), ("10", .noFix, .unknown), ("", .noFix, .unknown),
    ] as [(String, FixMode, FixStatus)])
  func `the quality of GGA says whether there is a fix, whatever its position`(
    _ quality: String, _ mode: FixMode, _ status: FixStatus
  ) {
    let gga = "GPGGA,120000.00,\(StatusLetterTests.place),\(quality),05,2.9,545.4,M,46.9,M,,"
    expect(["GPZDA,120000.00,01,06,2026,00,00", gga], mode, status)
    // A GSA does not change the mode either.
    expect([gga, "GPGSA,A,3,01,02,03,04,,,,,,,,,1.6,0.9,1.3"], mode, status)
  }

  @Test func `a fix that needs no satellites counts, unless another sentence denies it`() {
    let gga = "GPGGA,120000.00,\(StatusLetterTests.place),6,00,99.9,545.4,M,46.9,M,,"
    let rmc = ",\(StatusLetterTests.place),0.50,84.40,010626,,,E"
    expect([gga], .twoDimensional, .deadReckoning)
    // An RMC with status V has no time of its own and belongs to the sentences before it.
    #expect(StatusLetterTests.fix([gga, "GPRMC,120000.00,V\(rmc)"])?.mode == .noFix)
    expect([gga, "GPRMC,120000.00,A\(rmc)"], .threeDimensional, .deadReckoning)
    #expect(StatusLetterTests.fix([gga.replacingQuality("1")])?.mode == .noFix)
  }

  // MARK: GNS

  @Test(
    arguments: [
      ("A", .gnss), ("AN", .gnss), ("NNNA", .gnss), ("AAAN", .gnss), ("DDNN", .differential), ("NNRR", .rtkFixed),
      ("RF", .rtkFixed), ("FANN", .rtkFloat), ("P", .precise), ("E", .deadReckoning), ("EA", .gnss), ("M", .surveyed),
      ("S", .simulated), ("AS", .simulated),
    ] as [(String, FixStatus)])
  func `one system with a fix suffices for GNS, and the best letter counts`(_ letters: String, _ status: FixStatus) {
    expect(
      ["GNGNS,120000.00,\(StatusLetterTests.place),\(letters),20,0.60,545.4,46.9,,"], .threeDimensional, status)
  }

  @Test(arguments: ["N", "NN", "NNNNNN", ""])
  func `a GNS without a system with a fix is not a fix`(_ letters: String) {
    expect(["GNGNS,120000.00,\(StatusLetterTests.place),\(letters),20,0.60,545.4,46.9,,,V"], .noFix, .unknown)
  }

  @Test(
    arguments: [
      ("S", .threeDimensional), ("C", .threeDimensional), ("V", .threeDimensional), ("", .threeDimensional),
      ("U", .unknown),
    ] as [(String, FixMode)])
  func `the navigational status of GNS matters only if it is unsafe`(_ letter: String, _ mode: FixMode) {
    let gns = "GNGNS,120000.00,\(StatusLetterTests.place),AAAN,20,0.60,545.4,46.9,,,\(letter)"
    #expect(StatusLetterTests.fix([gns])?.mode == mode)
  }

  @Test func `a GNS fix of a system other than GPS has a height`() throws {
    for (talker, letters, status) in [("GN", "AAAN", "V"), ("GB", "NNNA", "S")] {
      let fix = try #require(
        StatusLetterTests.fix([
          "\(talker)RMC,120000.00,A,\(StatusLetterTests.place),3.50,84.40,010626,,,A,\(status)",
          "\(talker)GNS,120000.00,\(StatusLetterTests.place),\(letters),20,0.60,545.4,46.9,,,\(status)",
        ]))
      #expect(fix.mode == .threeDimensional && fix.altitudeMSLMetres == 545.4)
    }
  }

  @Test func `GNS sentences per system with corrections do not remove the fix of the whole solution`() {
    expect(
      [
        "GNGNS,120000.00,\(StatusLetterTests.place),DD,20,0.60,545.4,46.9,,", "GPGNS,120000.00,,,,,,10,,,,1.0,0023",
        "GLGNS,120000.00,,,,,,10,,,,2.0,0023",
      ], .threeDimensional, .differential)
  }

  // MARK: GSA, VTG, THS, PUBX

  @Test(
    arguments: [("1", .noFix), ("2", .twoDimensional), ("3", .threeDimensional), ("4", nil), ("", nil)]
      as [(String, FixMode?)])
  func `the second field of GSA is the mode`(_ digit: String, _ mode: FixMode?) {
    let fix = StatusLetterTests.fix([
      "GPRMC,120000.00,A,\(StatusLetterTests.place),0.50,84.40,010626,,,A",
      "GPGSA,A,\(digit),01,02,03,,,,,,,,,,1.6,0.9,1.3",
    ])
    #expect(fix?.mode == mode ?? .twoDimensional)
  }

  @Test(arguments: [("A", true), ("D", true), ("R", true), ("S", true), ("", true), ("E", false), ("N", false)])
  func `course and speed of VTG count only for a fix by satellites`(_ letter: String, _ isTaken: Bool) {
    let fix = StatusLetterTests.fix([
      "GPRMC,120000.00,A,\(StatusLetterTests.place),,,010626,,,A", "GPVTG,45.0,T,,M,10.0,N,18.5,K,\(letter)",
    ])
    #expect((fix?.trackDegrees == 45) == isTaken)
  }

  @Test(arguments: [("A", true), ("E", true), ("M", true), ("S", true), ("V", false), ("", false)])
  func `a heading of THS counts unless it is invalid`(_ letter: String, _ isTaken: Bool) {
    var framer = SentenceFramer()
    var assembler = EpochAssembler(promptness: .certain)
    Array("$GPTHS,77.5,\(letter)\r\n".utf8).withUnsafeBufferPointer { bytes in
      framer.push(bytes) { raw in _ = assembler.consume(raw) { _ in } }
    }
    #expect((assembler.attitude.headingDegrees == 77.5) == isTaken)
  }

  @Test(
    arguments: [
      ("NF", .noFix, .unknown), ("DR", .twoDimensional, .deadReckoning), ("G2", .twoDimensional, .gnss),
      ("G3", .threeDimensional, .gnss), ("D2", .twoDimensional, .differential),
      ("D3", .threeDimensional, .differential), ("RK", .threeDimensional, .gnss),
      ("TT", .threeDimensional, .surveyed), ("XX", .noFix, .unknown),
    ] as [(String, FixMode, FixStatus)])
  func `the status of PUBX has two letters`(_ letters: String, _ mode: FixMode, _ status: FixStatus) {
    expect(
      [
        "PUBX,00,120000.00,\(StatusLetterTests.place),545.4,\(letters),1.0,2.0,0.1,84.4,0.0,,0.9,1.3,1.0,9,0,0"
      ], mode, status)
  }
}

extension String {
  /// Returns the same GGA with another quality.
  fileprivate func replacingQuality(_ quality: String) -> String {
    var fields = split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    fields[6] = quality
    return fields.joined(separator: ",")
  }
}
