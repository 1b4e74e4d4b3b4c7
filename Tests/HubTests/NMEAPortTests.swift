import Hub
import Testing

/// A board file's choice of sentences.
struct NMEAPortTests {
  private func board(_ text: String) throws(BoardError) -> Board {
    try Board(json5: Array("{ name: 'x', \(text) }".utf8), file: "board")
  }

  @Test func `the key nmea has one object, a list of objects, or none`() throws {
    #expect(try board("").nmea.isEmpty)
    #expect(try board("nmea: {}").nmea.map(\.feed) == [Board.NMEAFeed(source: .receiver)])
    let ports = try board(
      "nmea: [{}, { port: 10111, source: 'fused', rateHz: 5, sentences: ['RMC', 'GSV'] }, { port: 10112 }]"
    ).nmea
    #expect(ports.map(\.endpoint?.port) == [10110, 10111, 10112])
    #expect(
      ports[1].feed == Board.NMEAFeed(source: .fused, rateHz: 5, sentences: SentenceChoice(names: ["RMC", "GSV"])))
    #expect(ports[0].feed == ports[2].feed)
  }

  @Test func `datagrams go to a machine, a network or a group`() throws {
    let targets = try board(
      """
      nmea: [{ udp: '192.168.1.255:10110' }, { udp: '239.2.1.1:60001', interface: 'wlan0', keepsAwake: true },
        { udp: '[::1]:10110', source: 'fused' }]
      """
    ).nmea.map(\.target)
    #expect(targets.map { $0?.description } == ["192.168.1.255:10110", "239.2.1.1:60001 via wlan0", "[::1]:10110"])
    #expect(targets.map { $0?.keepsAwake } == [false, true, false])
  }

  @Test(arguments: [
    ("nmea: { udp: '192.168.1.255' }", "'nmea.udp' must be an address and a port"),
    ("nmea: { udp: 'boat:10110' }", "'nmea.udp' must be an address and a port"),
    ("nmea: { udp: '::1:10110' }", "'nmea.udp' must be an address and a port"),
    ("nmea: { udp: '[10.0.0.1]:10110' }", "'nmea.udp' must be an address and a port"),
    ("nmea: { udp: '10.0.0.1:0' }", "'nmea.udp' must be an address and a port"),
    ("nmea: { udp: '10.0.0.1:70000' }", "'nmea.udp' must be an address and a port"),
    ("nmea: { udp: '10.0.0.1:1', interface: 'lo' }", "'nmea.interface' must be left out"),
    ("nmea: { udp: '10.0.0.1:1', port: 5 }", "'nmea.port' must be left out with 'udp'"),
    ("nmea: { keepsAwake: true }", "'nmea.keepsAwake' must be left out without 'udp'"),
    ("nmea: 5", "'nmea' must be an object"), ("nmea: [5]", "'nmea' must be an object or a list of objects"),
    ("nmea: [{}, { port: 0 }]", "'nmea[1].port' must be a whole number"),
    ("nmea: [{ prot: 1 }]", "unknown key 'nmea[0].prot'; did you mean 'nmea[0].port'?"),
    (
      "nmea: { source: 'fused', sentences: ['RMC', 'GLL'] }",
      "'nmea.sentences' must be a list of some of RMC, GGA, VTG, GST, GSA, GSV, HDT, HDG, ROT, XDR, PASHR"
    ), ("nmea: { sentences: ['rmc'] }", "'nmea.sentences' must be a list of some of DTM, GBS, GGA, GLL"),
    ("nmea: { sentences: [] }", "'nmea.sentences' must be a list of some of"),
    ("nmea: { rateHz: 5 }", "'nmea.rateHz' must be left out"),
    ("nmea: { source: 'fused', rateHz: 0 }", "'nmea.rateHz' must be a number from 0.1 to 100"),
  ])
  func `an invalid setting is reported`(_ text: String, _ message: String) {
    do throws(BoardError) {
      _ = try board(text)
      Issue.record("taken for right")
    } catch {
      #expect("\(error)".contains(message), "\(error)")
    }
  }

  @Test(arguments: [
    ("$GPRMC,1,2*00\r", true), ("$GNRMC,1", true), ("$GPGGA,1", false), ("$PQRMC*00", true), ("$PUBX,00,1", true),
    ("$PUBX*00", true), ("$PMTK001,1", false), ("$GPRMCX,1", false), ("$RMC,1", false), ("$", false), ("", false),
  ])
  func `a sentence is selected by its formatter, a proprietary one by its first letters`(
    _ sentence: String, _ isChosen: Bool
  ) {
    let choice = SentenceChoice(names: ["RMC", "PUBX"])
    #expect(choice.contains(sentence: Array(sentence.utf8)) == isChosen)
    #expect(SentenceChoice.all.contains(sentence: Array(sentence.utf8)))
  }
}
