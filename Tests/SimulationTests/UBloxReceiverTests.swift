import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing

/// u-blox receivers of five generations on pseudo-terminals, with a clock that the test advances.
@Suite(.timeLimit(.minutes(10)))
struct UBloxReceiverTests {
  private static let all: [ReceiverPersonality] = [.ublox6, .ublox7, .ublox8, .ublox9, .ublox10]
  private static let measurementRate: UInt32 = 0x3021_0001
  private static let fiveTimes: [UInt8] = [200, 0]

  @Test(arguments: zip(all, ["00040007", "00070000", "00080000", "00190000", "000A0000"]))
  func `each receiver states its generation`(_ personality: ReceiverPersonality, _ hardware: String) throws {
    let bench = try ReceiverBench(personality)
    try bench.tell(ubx(0x0A, 0x04))
    let version = try #require(bench.payloads(0x0A, 0x04, count: 1).first)
    #expect(String(decoding: version[30..<38], as: UTF8.self) == hardware)
    #expect((version.count - 40) % 30 == 0)
    #expect((version.count > 40) == (personality != .ublox6))
  }

  @Test(arguments: [ReceiverPersonality.ublox6, .ublox7, .ublox8, .ublox9])
  func `a possible rate is acknowledged, and an impossible rate is refused`(_ personality: ReceiverPersonality) throws {
    let bench = try ReceiverBench(personality)
    try bench.tell(rate(milliseconds: 200))
    #expect(bench.hears(acknowledgement(6, 8)))
    #expect(bench.receiver.interval == .milliseconds(200))
    try bench.tell(rate(milliseconds: 10))
    #expect(bench.hears(refusal(6, 8)))
    #expect(bench.receiver.interval == .milliseconds(200))
  }

  @Test func `the tenth generation knows only keys`() throws {
    let bench = try ReceiverBench(.ublox10)
    try bench.tell(rate(milliseconds: 200))
    #expect(bench.hears(refusal(6, 8)))
    try bench.tell(valset(1, UBloxReceiverTests.measurementRate, UBloxReceiverTests.fiveTimes))
    #expect(bench.hears(acknowledgement(6, 0x8A)))
    #expect(bench.receiver.interval == .milliseconds(200))
    bench.forget()
    // The receiver has no flash, and does not know this key.
    try bench.tell(valset(4, UBloxReceiverTests.measurementRate, UBloxReceiverTests.fiveTimes))
    #expect(bench.hears(refusal(6, 0x8A)))
    bench.forget()
    try bench.tell(valset(1, 0x1031_0004, [1]))
    #expect(bench.hears(refusal(6, 0x8A)))
  }

  @Test func `older generations know no keys`() throws {
    let bench = try ReceiverBench(.ublox8)
    try bench.tell(valset(1, UBloxReceiverTests.measurementRate, UBloxReceiverTests.fiveTimes))
    #expect(bench.hears(refusal(6, 0x8A)))
  }

  @Test(arguments: [
    (ReceiverPersonality.ublox8, true, true), (.ublox8, false, true), (.ublox7, true, true), (.ublox7, false, false),
  ])
  func `saved settings survive a loss of the supply with a battery or a flash`(
    _ personality: ReceiverPersonality, _ hasBackupSupply: Bool, _ isKept: Bool
  ) throws {
    var configuration = CommandedReceiver.Configuration()
    configuration.hasBackupSupply = hasBackupSupply
    let bench = try ReceiverBench(personality, configuration)
    try bench.tell(rate(milliseconds: 200))
    #expect(bench.hears(acknowledgement(6, 8)))
    bench.setPower(false)
    bench.setPower(true)
    #expect(bench.receiver.interval == .seconds(1))
    bench.forget()
    try bench.tell(rate(milliseconds: 200))
    #expect(bench.hears(acknowledgement(6, 8)))
    try bench.tell(ubx(6, 9, [0, 0, 0, 0, 0x1F, 0, 0, 0, 0, 0, 0, 0]))
    #expect(bench.hears(acknowledgement(6, 9)))
    bench.setPower(false)
    bench.setPower(true)
    #expect(bench.receiver.interval == (isKept ? .milliseconds(200) : .seconds(1)))
  }

  // MARK: Sleep

  /// RXM-PMREQ: backup mode, forced, with wake-up by UART.
  private func sleep(milliseconds: UInt16, flags: UInt8 = 6) -> [UInt8] {
    let duration = [UInt8(milliseconds & 0xFF), UInt8(milliseconds >> 8), 0, 0]
    return ubx(2, 0x41, [0, 0, 0, 0] + duration + [flags, 0, 0, 0, 8, 0, 0, 0])
  }

  @Test(arguments: [UInt8(1), 3])
  func `a sleeping receiver loses settings in RAM, and a byte wakes it in about a second`(_ layers: UInt8) throws {
    var configuration = CommandedReceiver.Configuration()
    configuration.wasUsedBefore = true
    let bench = try ReceiverBench(.ublox10, configuration)
    bench.runUntilFix()
    try bench.tell(valset(layers, UBloxReceiverTests.measurementRate, UBloxReceiverTests.fiveTimes))
    #expect(bench.hears(acknowledgement(6, 0x8A)))
    try bench.tell(sleep(milliseconds: 0))
    #expect(bench.receiver.phase == .backup)
    bench.run(.seconds(600))
    #expect(bench.receiver.phase == .backup)
    try bench.tell([0xFF])
    #expect(bench.receiver.phase == .booting)
    bench.run(.seconds(2))
    #expect(bench.receiver.phase == .tracking)
    #expect(bench.receiver.starts.last?.kind == .hot)
    #expect(bench.receiver.interval == (layers == 1 ? .seconds(1) : .milliseconds(200)))
  }

  @Test func `a sleeping receiver wakes when its time is over`() throws {
    let bench = try ReceiverBench(.ublox8)
    try bench.tell(ubx(2, 0x41, [0x88, 0x13, 0, 0, 2, 0, 0, 0]))
    #expect(bench.receiver.phase == .backup)
    bench.run(.milliseconds(4900))
    #expect(bench.receiver.phase == .backup)
    bench.run(.milliseconds(500))
    #expect(bench.receiver.phase == .searching)
  }

  @Test func `the tenth generation sleeps only with the force flag`() throws {
    let bench = try ReceiverBench(.ublox10)
    try bench.tell(sleep(milliseconds: 0, flags: 2))
    try bench.tell(ubx(0x0A, 0x04))
    #expect(bench.payloads(0x0A, 0x04, count: 1).count == 1)
    #expect(bench.receiver.phase == .searching)
  }

  // MARK: Starts

  @Test func `a receiver starts cold, then hot, and warm or cold if told to forget`() throws {
    let bench = try ReceiverBench(.ublox8)
    bench.runUntilFix()
    for (forgotten, kind) in [([0, 0], ReceiverStart.hot), ([1, 0], .warm), ([0xFF, 0xFF], .cold)] as [([UInt8], _)] {
      let count = bench.receiver.starts.count
      try bench.tell(ubx(6, 4, forgotten + [2, 0]))
      #expect(bench.receiver.starts.count > count)
      #expect(bench.receiver.starts.last?.kind == kind)
      bench.runUntilFix()
    }
    let times = bench.receiver.starts.map(\.timeToFirstFix)
    #expect(bench.receiver.starts.map(\.kind) == [.cold, .hot, .warm, .cold])
    #expect(times[0] > .seconds(15) && times[1] < .seconds(3) && times[2] > .seconds(12))
  }

  @Test(arguments: zip([3, 40] as [Int64], [ReceiverStart.warm, .hot]))
  func `ephemerides stay valid for four hours after they were received`(
    _ seconds: Int64, _ kind: ReceiverStart
  ) throws {
    var configuration = CommandedReceiver.Configuration()
    configuration.hasBackupSupply = true
    let bench = try ReceiverBench(.ublox8, configuration)
    bench.runUntilFix()
    for hours in [3, 3] as [Int64] {
      bench.run(.seconds(seconds))
      bench.setPower(false)
      bench.run(.seconds(hours * 3600))
      bench.setPower(true)
      bench.runUntilFix()
    }
    #expect(bench.receiver.starts.map(\.kind) == [.cold, .hot, kind])
  }

  @Test func `a stopped receiver draws little, keeps its data and returns at once`() throws {
    let bench = try ReceiverBench(.ublox9)
    bench.runUntilFix()
    let tracking = bench.receiver.amperes
    try bench.tell(ubx(6, 4, [0, 0, 8, 0]))
    #expect(bench.receiver.phase == .stopped)
    #expect(bench.receiver.amperes < tracking / 2)
    bench.run(.seconds(600))
    try bench.tell(ubx(6, 4, [0, 0, 9, 0]))
    #expect(bench.receiver.phase == .searching)
    #expect(bench.receiver.starts.last?.kind == .hot)
  }

  /// After an off time without a battery, the receiver starts with data from its flash or its host.
  @Test func `after a save on shutdown the receiver needs only the time to start quickly`() throws {
    var configuration = CommandedReceiver.Configuration()
    configuration.hasBackupSupply = false
    let bench = try ReceiverBench(.ublox8, configuration)
    bench.runUntilFix()
    bench.setPower(false)
    bench.setPower(true)
    #expect(bench.receiver.starts.last?.kind == .cold)
    bench.runUntilFix()
    try bench.tell(ubx(6, 4, [0, 0, 8, 0]))
    try bench.tell(ubx(9, 0x14, [0, 0, 0, 0]))
    #expect(bench.hears(ubx(9, 0x14, [2, 0, 0, 0, 1, 0, 0, 0])))
    bench.setPower(false)
    bench.setPower(true)
    #expect(bench.receiver.starts.last?.kind == .warm)
    try bench.tell(ubx(0x13, 0x40, [0x10, 0, 0, 18] + [UInt8](repeating: 0, count: 20)))
    #expect(bench.receiver.starts.last?.kind == .aided)
  }

  @Test func `the database with position and time replaces the battery`() throws {
    var configuration = CommandedReceiver.Configuration()
    configuration.hasBackupSupply = false
    let bench = try ReceiverBench(.ublox10, configuration)
    bench.runUntilFix()
    bench.forget()
    try bench.tell(ubx(0x13, 0x80))
    let database = bench.payloads(0x13, 0x80, count: 14)
    #expect(database.count >= 4)
    bench.setPower(false)
    bench.setPower(true)
    #expect(bench.receiver.starts.last?.kind == .cold)
    for payload in database { try bench.tell(ubx(0x13, 0x80, payload)) }
    try bench.tell(ubx(0x13, 0x40, [1] + [UInt8](repeating: 0, count: 19)))
    try bench.tell(ubx(0x13, 0x40, [0x10, 0, 0, 18] + [UInt8](repeating: 0, count: 20)))
    #expect(bench.receiver.starts.last?.kind == .aided)
    bench.run(.seconds(3))
    #expect(bench.receiver.phase == .tracking)
  }

  // MARK: Line

  @Test func `at another speed a receiver sends and receives noise, and becomes deaf`() throws {
    let bench = try ReceiverBench(.ublox8)
    // The answer follows all earlier output.
    try bench.tell(ubx(0x0A, 0x04))
    #expect(bench.payloads(0x0A, 0x04, count: 1).count == 1)
    bench.forget()
    try bench.port.setSpeed(.b115200)
    bench.run(.seconds(2))
    let isHeard = bench.listens { bench.heard.count > 100 }
    #expect(isHeard && !bench.heard.contains(UInt8(ascii: "$")))
    try bench.tell([UInt8](repeating: 0xAA, count: 90))
    #expect(bench.receiver.frameErrors == 90)
    #expect(!bench.receiver.isDeaf)
    try bench.tell([UInt8](repeating: 0xAA, count: 20))
    #expect(bench.receiver.isDeaf)
    try bench.port.setSpeed(.b9600)
    bench.run(.seconds(1))
    try bench.tell(ubx(0x0A, 0x04))
    // The receiver still sends.
    bench.forget()
    bench.run(.seconds(2))
    #expect(bench.hears(Array("$GNRMC".utf8)))
    #expect(bench.receiver.commands.count == 1)
    bench.setPower(false)
    bench.setPower(true)
    try bench.tell(ubx(0x0A, 0x04))
    // The answer to the earlier request may still be on the line.
    #expect(!bench.payloads(0x0A, 0x04, count: 1).isEmpty)
  }

  @Test func `the speed changes before the acknowledgement, which is sent at the new speed`() throws {
    let bench = try ReceiverBench(.ublox8)
    let speed: [UInt8] = [0x00, 0xC2, 0x01, 0x00]
    try bench.tell(ubx(6, 0, [1, 0, 0, 0, 0xC0, 8, 0, 0] + speed + [3, 0, 3, 0, 0, 0, 0, 0]))
    #expect(bench.receiver.speed == 115_200)
    try bench.port.setSpeed(.b115200)
    bench.forget()
    try bench.tell(ubx(6, 0))
    let settings = try #require(bench.payloads(6, 0, count: 1).first)
    #expect(Array(settings[8..<12]) == speed)
  }

  @Test func `a receiver runs while its port is closed, and that output is lost`() throws {
    let bench = try ReceiverBench(.ublox8)
    bench.runUntilFix()
    try bench.reopen(after: .seconds(600))
    #expect(bench.receiver.phase == .tracking)
    try bench.tell(ubx(0x0A, 0x04))
    #expect(bench.payloads(0x0A, 0x04, count: 1).count == 1)
    #expect(!bench.heard.contains(Array("$G".utf8)))
  }
}
