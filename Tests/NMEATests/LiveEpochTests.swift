import TestSupport
import Testing

@testable import NMEA

/// A live line and a recording give the same epochs with the same positions, each once, and none a whole epoch late.
struct LiveEpochTests {
  static let pairs = MadeReceiver.Kind.allCases.flatMap { first in
    MadeReceiver.Kind.allCases.filter { $0 != first }.map { [first, $0] }
  }
  static let rates = [1.0, 5, 25]

  /// Epochs at a rate, over a line of 115200 baud that is read eight bytes at a time.
  static func reads(
    _ epochs: [(sentences: String, second: Double)], bytesPerRead: Int = 8, nanosecondsPerByte: Int64 = 86_805
  ) -> [MadeReceiver.Read] {
    var reads: [MadeReceiver.Read] = []
    for epoch in epochs {
      var at = Int64(epoch.second * 1e9)
      if let last = reads.last { at = max(at, last.atNanoseconds) }
      var rest = Array(epoch.sentences.utf8)[...]
      while !rest.isEmpty {
        let piece = Array(rest.prefix(bytesPerRead))
        // A read returns when its last byte is in.
        at += Int64(piece.count) * nanosecondsPerByte
        reads.append(MadeReceiver.Read(atNanoseconds: at, bytes: piece))
        rest = rest.dropFirst(piece.count)
      }
    }
    return reads
  }

  static func epochs(
    _ kinds: [MadeReceiver.Kind], rateHz: Double, count: Int = 200, startingAt second: Double = 43200,
    number: Int = 0
  ) -> [(sentences: String, second: Double)] {
    (0..<count).map { index in
      let second = second + Double(index) / rateHz
      return (MadeReceiver.epoch(kinds, number: number + index, second: second), second)
    }
  }

  /// - Parameter lateAtFirst: how many epochs may come late, before their order is known
  private func expectTheSame(
    _ epochs: [(sentences: String, second: Double)], lateAtFirst: Int = 3, _ location: SourceLocation = #_sourceLocation
  ) {
    let assembly = LiveAssembly(LiveEpochTests.reads(epochs))
    #expect(assembly.live == assembly.recorded, sourceLocation: location)
    #expect(zip(assembly.beganAt, assembly.beganAt.dropFirst()).allSatisfy { $0 < $1 }, sourceLocation: location)
    let late = zip(assembly.reportedAt, assembly.beganAt.dropFirst()).enumerated().filter { index, times in
      index >= lateAtFirst && times.0 >= times.1
    }
    #expect(late.isEmpty, "late: \(late.map(\.offset).prefix(5))", sourceLocation: location)
  }

  @Test(arguments: [MadeReceiver.Kind.rmc, .gga, .gll, .gns], rates)
  func `a receiver with one sentence per epoch gives all its positions`(
    _ kind: MadeReceiver.Kind, _ rateHz: Double
  ) {
    let epochs = LiveEpochTests.epochs([kind], rateHz: rateHz)
    expectTheSame(epochs)
    let assembly = LiveAssembly(LiveEpochTests.reads(epochs))
    #expect(assembly.live.count { $0.position != nil } == 200)
  }

  @Test(arguments: pairs)
  func `two sentences in either order give every position once and on time`(_ kinds: [MadeReceiver.Kind]) {
    guard kinds.contains(where: { [.rmc, .gga, .gll, .gns].contains($0) }) else { return }
    for rateHz in LiveEpochTests.rates {
      let epochs = LiveEpochTests.epochs(kinds, rateHz: rateHz)
      let assembly = LiveAssembly(LiveEpochTests.reads(epochs))
      let positions = assembly.live.compactMap(\.position)
      #expect(positions.count == 200)
      #expect(positions == assembly.recorded.compactMap(\.position), "\(kinds) at \(rateHz) Hz")
      expectTheSame(epochs)
    }
  }

  @Test(arguments: rates) func `a changing order of sentences loses no epoch`(_ rateHz: Double) {
    let orders: [[MadeReceiver.Kind]] = [
      [.rmc, .gga, .gsa], [.gga, .gsa, .rmc], [.gsa, .gga], [.gll, .rmc, .gga, .gsv],
    ]
    let epochs = (0..<240).map { index in
      let second = 43200 + Double(index) / rateHz
      return (sentences: MadeReceiver.epoch(orders[index / 20 % 4], number: index, second: second), second: second)
    }
    let assembly = LiveAssembly(LiveEpochTests.reads(epochs))
    #expect(assembly.live.compactMap(\.position) == assembly.recorded.compactMap(\.position))
    #expect(assembly.live.count { $0.position != nil } == 240)
  }

  @Test func `a rate that changes from 1 to 25 Hz and back loses nothing and delays nothing`() {
    let slow = LiveEpochTests.epochs([.rmc, .gga, .vtg], rateHz: 1, count: 20)
    let quick = LiveEpochTests.epochs([.rmc, .gga, .vtg], rateHz: 25, count: 100, startingAt: 43220, number: 20)
    let slowAgain = LiveEpochTests.epochs([.rmc, .gga, .vtg], rateHz: 1, count: 20, startingAt: 43225, number: 120)
    expectTheSame(slow + quick + slowAgain)
  }

  @Test func `occasional lists of satellites neither delay nor end an epoch`() {
    let epochs = (0..<200).map { index in
      let second = 43200 + Double(index) / 10
      let kinds: [MadeReceiver.Kind] = index % 10 == 0 ? [.rmc, .gga, .gsa, .gsv] : [.rmc, .gga]
      return (sentences: MadeReceiver.epoch(kinds, number: index, second: second), second: second)
    }
    expectTheSame(epochs)
  }

  @Test func `epochs continue after a minute of silence or a restart`() {
    let before = LiveEpochTests.epochs([.gga, .rmc], rateHz: 5, count: 50)
    let after = LiveEpochTests.epochs([.gga, .rmc], rateHz: 5, count: 50, startingAt: 43270, number: 50)
    // The last epoch is cut off in the middle of a sentence.
    let torn = (sentences: String(MadeReceiver.epoch([.gga], number: 99, second: 43210).dropLast(20)), second: 43210.0)
    let restarted = "$PMTK010,001*2E\r\n$GPGGA,,,,,,0,,,,,,,,*66\r\n$GPRMC,,V,,,,,,,,,,N*53\r\n"
    expectTheSame(before + after)
    expectTheSame(before + [torn, (restarted, 43260), (restarted, 43261)] + after)
  }

  @Test func `two receivers on one line give the same epochs as a recording of both`() {
    let epochs = (0..<100).map { index in
      let second = 43200 + Double(index)
      return (
        sentences: MadeReceiver.epoch([.rmc, .gga], number: index, second: second, talker: "GP")
          + MadeReceiver.epoch([.gga, .gll], number: 1000 + index, second: second + 0.4, talker: "GL"), second: second
      )
    }
    let assembly = LiveAssembly(LiveEpochTests.reads(epochs))
    #expect(assembly.live == assembly.recorded)
    #expect(assembly.live.count == 200)
    // Both receivers are in step, so they state the same time.
    let same = (0..<100).map { index in
      let second = 43200 + Double(index)
      return (
        sentences: MadeReceiver.epoch([.rmc, .gga], number: index, second: second, talker: "GP")
          + MadeReceiver.epoch([.rmc, .gga], number: 1000 + index, second: second, talker: "GL"), second: second
      )
    }
    expectTheSame(same)
  }

  @Test func `a receiver with one sentence at a time, of alternating types, gives each position`() {
    var epochs: [(sentences: String, second: Double)] = []
    for index in 0..<60 {
      let kind: MadeReceiver.Kind = [.rmc, .gll, .gga, .gns][index % 4]
      epochs += LiveEpochTests.epochs([kind], rateHz: 1, count: 1, startingAt: 43200 + Double(index) * 2, number: index)
    }
    expectTheSame(epochs)
    let assembly = LiveAssembly(LiveEpochTests.reads(epochs))
    #expect(assembly.live.count { $0.position != nil } == 60)
    #expect(assembly.recorded.count { $0.position != nil } == 60)
  }

  @Test func `an epoch has the time of its first byte, however slow the line is`() {
    // At 4800 baud with a byte per read, the first sentence takes 140 ms.
    let epochs = LiveEpochTests.epochs([.rmc, .gga], rateHz: 1, count: 5)
    let reads = LiveEpochTests.reads(epochs, bytesPerRead: 1, nanosecondsPerByte: 2_083_333)
    let assembly = LiveAssembly(reads)
    #expect(assembly.beganAt == epochs.map { Int64($0.second * 1e9) + 2_083_333 })
  }

  @Test func `the date advances at midnight, even if it is stated only occasionally`() {
    // There is an RMC every ten seconds, and in between are times without a date.
    var epochs: [(sentences: String, second: Double)] = []
    for index in 0..<40 {
      let second = 86380 + Double(index)
      let date = second < 86400 ? "211126" : "221126"
      let kinds: [MadeReceiver.Kind] = index % 10 == 0 ? [.rmc, .gga, .gll] : [.gga, .gll]
      let sentences = kinds.map { kind in
        MadeReceiver.dated(MadeReceiver.sentence(kind, index, second, "GP"), date)
      }
      epochs.append((sentences.joined(), second))
    }
    let assembly = LiveAssembly(LiveEpochTests.reads(epochs))
    let start = 1_795_219_200 + 86380  // 2026-11-21
    #expect(
      assembly.recorded.map { $0.time?.nanosecondsSince1970 } == (0..<40).map { Int64(start + $0) * 1_000_000_000 })
    #expect(assembly.live == assembly.recorded)
  }

  @Test(.enabled(if: SharedData.isWanted, "left out by SKIP=recordings"), arguments: SharedData.logs)
  func `a real receiver's log gives the same epochs live and recorded, however reads cut it`(_ log: String) throws {
    let bytes = SharedData.read(try #require(SharedData.folder) + "/nmea/\(log).log")
    for length in [1, 7, 83, 4096, bytes.count] {
      // The bytes arrive as fast as they can be read, and also at 4800 baud without a pause longer than a read.
      for nanosecondsPerByte in length < 100 ? [Int64(0), 2_083_333] : [0] {
        var reads: [MadeReceiver.Read] = []
        for start in stride(from: 0, to: bytes.count, by: length) {
          let end = min(start + length, bytes.count)
          reads.append(
            MadeReceiver.Read(
              atNanoseconds: 1_000_000_000 + Int64(end) * nanosecondsPerByte, bytes: Array(bytes[start..<end])))
        }
        let assembly = LiveAssembly(reads)
        #expect(assembly.live == assembly.recorded, "cut into \(length)")
      }
    }
  }
}
