import TestSupport
import Testing

@testable import NMEA

struct EpochAssemblerTests {
  static let epochs = (0..<6).map { second in
    [
      "$GPRMC,12000\(second).00,A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A",
      "$GPGGA,12000\(second).00,5231.0000,N,01322.0000,E,1,08,0.9,40.\(second),M,40.0,M,,",
      "$GPGSA,A,3,01,02,03,04,,,,,,,,,1.6,0.9,1.3",
    ]
  }

  @Test func `the end of an epoch is learned after two epochs, and then epochs are reported at once`() {
    var assembler = EpochAssembler(promptness: .learned)
    var reportedAt: [Int] = []
    var sentence = 0
    for line in EpochAssemblerTests.epochs.joined() {
      sentence += 1
      feed(line, &assembler) { _ in reportedAt.append(sentence) }
    }
    // The first two epochs are reported when the next epoch begins, the other epochs with their own third sentence.
    #expect(reportedAt == [4, 7, 9, 12, 15, 18])
  }

  @Test func `an assembler for recordings reports an epoch when the next one begins or the stream ends`() {
    var assembler = EpochAssembler(promptness: .certain)
    var altitudes: [Double?] = []
    for line in EpochAssemblerTests.epochs.joined() {
      feed(line, &assembler) { altitudes.append($0.fix.altitudeMSLMetres) }
    }
    #expect(altitudes == [40.0, 40.1, 40.2, 40.3, 40.4])
    assembler.finish { altitudes.append($0.fix.altitudeMSLMetres) }
    assembler.finish { altitudes.append($0.fix.altitudeMSLMetres) }
    #expect(altitudes == [40.0, 40.1, 40.2, 40.3, 40.4, 40.5])
  }

  @Test func `a sentence after the predicted end makes the assembler careful, and no epoch is reported twice`() {
    var assembler = EpochAssembler(promptness: .learned)
    var count = 0
    for (index, epoch) in EpochAssemblerTests.epochs.enumerated() {
      for line in epoch { feed(line, &assembler) { _ in count += 1 } }
      if index == 4 { feed("$GPVTG,45.0,T,,M,1.0,N,1.9,K,A", &assembler) { _ in count += 1 } }
    }
    assembler.finish { _ in count += 1 }
    #expect(count == 6)
  }

  @Test func `a receiver without time or fix still has epochs`() {
    var assembler = EpochAssembler(promptness: .certain)
    var modes: [FixMode] = []
    for _ in 0..<3 {
      feed("$GPGGA,,,,,,0,,,,,,,,", &assembler) { modes.append($0.fix.mode) }
      feed("$GPRMC,,V,,,,,,,,,,N", &assembler) { modes.append($0.fix.mode) }
    }
    assembler.finish { modes.append($0.fix.mode) }
    #expect(modes == [.noFix, .noFix, .noFix])
  }

  @Test func `a manufacturer's sentence is not taken for a standard sentence with the same last letters`() {
    var assembler = EpochAssembler(promptness: .certain)
    var fixes: [GNSSFix] = []
    let epoch = EpochAssemblerTests.epochs[0]
    // A Garmin receiver reports its settings.
    for line in epoch + ["$PGRMC,A,45.0,100,6378137.000,298.257223563,0.0,0.0,0.0,A,3,1,2,4,30"] {
      feed(line, &assembler) { fixes.append($0.fix) }
    }
    assembler.finish { fixes.append($0.fix) }
    #expect(fixes.map(\.mode) == [.threeDimensional])
    #expect(fixes.first?.time != nil)
  }

  @Test func `a list of satellites is reported when it is complete, with the used satellites marked`() {
    var assembler = EpochAssembler(promptness: .certain)
    var skies: [[Satellite]] = []
    let lines = [
      "$GPRMC,120000.00,A,5231.0,N,01322.0,E,1.0,45.0,211126,,,A",
      "$GPGSA,A,3,02,05,,,,,,,,,,,1.6,0.9,1.3",
      "$GPGSV,2,1,05,02,62,105,45,05,31,051,41,12,48,301,43,13,22,182,",
      "$GPGSV,2,2,05,15,71,230,47",
      "$GPRMC,120001.00,A,5231.0,N,01322.0,E,1.0,45.0,211126,,,A",
    ]
    for line in lines { feed(line, &assembler) { skies.append($0.sky.satellites) } }
    assembler.finish { skies.append($0.sky.satellites) }
    let sky = skies[0]
    #expect(sky.count == 5)
    #expect((0..<5).filter { sky[$0].isUsed } == [0, 1])
    #expect(skies[1].isEmpty)
  }

  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"), arguments: SharedData.logs)
  func `learning the order of a real receiver changes when epochs are reported, not how many`(_ log: String) throws {
    let bytes = SharedData.read(try #require(SharedData.folder) + "/nmea/\(log).log")
    func run(_ promptness: EpochAssembler.Promptness) -> [UTCTime?] {
      var framer = SentenceFramer()
      var assembler = EpochAssembler(promptness: promptness)
      var times: [UTCTime?] = []
      bytes.withUnsafeBufferPointer { buffer in
        framer.push(buffer) { raw in assembler.consume(raw) { times.append($0.fix.time) } }
      }
      assembler.finish { times.append($0.fix.time) }
      return times
    }
    #expect(run(.learned) == run(.certain))
  }

  private func feed(_ line: String, _ assembler: inout EpochAssembler, _ receive: (borrowing GNSSEpoch) -> Void) {
    var framer = SentenceFramer()
    Array("\(line)\r\n".utf8).withUnsafeBufferPointer { buffer in
      framer.push(buffer) { raw in assembler.consume(raw, receive: receive) }
    }
  }
}
