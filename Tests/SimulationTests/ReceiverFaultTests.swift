import HardwareIO
import MonotonicTime
import Simulation
import TestSupport
import Testing

/// Faults of receivers that a test can inject.
@Suite(.timeLimit(.minutes(10)))
struct ReceiverFaultTests {
  @Test func `a receiver can refuse, ignore or substitute commands`() throws {
    let bench = try ReceiverBench(.ublox8)
    bench.receiver.setFaults { $0.refused = [.binary(6, 8)] }
    try bench.tell(rate(milliseconds: 200))
    #expect(bench.hears(refusal(6, 8)))
    #expect(bench.receiver.interval == .seconds(1))
    bench.receiver.setFaults { faults in
      faults.refused = []
      faults.substituted = [.binary(6, 8): acknowledgement(6, 1)]
    }
    try bench.tell(rate(milliseconds: 200))
    #expect(bench.hears(acknowledgement(6, 1)))
    #expect(bench.receiver.interval == .seconds(1))
    bench.receiver.setFaults { faults in
      faults.substituted = [:]
      faults.ignored = [.binary(6, 8)]
    }
    try bench.tell(rate(milliseconds: 200))
    try bench.tell(ubx(0x0A, 0x04))
    #expect(bench.payloads(0x0A, 0x04, count: 1).count == 1)
    #expect(bench.receiver.interval == .seconds(1))
  }

  @Test func `a receiver can answer late`() throws {
    let bench = try ReceiverBench(.ublox8)
    bench.receiver.setFaults { $0.answerDelay = .seconds(3) }
    try bench.tell(rate(milliseconds: 200))
    #expect(bench.receiver.interval == .milliseconds(200))
    bench.run(.milliseconds(2900))
    #expect(bench.hears(Array("$GNRMC".utf8)))
    #expect(bench.payloads(5, 1).isEmpty)
    bench.run(.milliseconds(200))
    #expect(bench.hears(acknowledgement(6, 8)))
  }

  @Test func `a receiver can lose its supply during its configuration, and starts again with its saved settings`()
    throws
  {
    let bench = try ReceiverBench(.ublox8)
    bench.receiver.setFaults { $0.commandsUntilPowerLoss = 1 }
    try bench.tell(rate(milliseconds: 200))
    #expect(bench.hears(acknowledgement(6, 8)))
    try bench.tell(ubx(6, 1, [1, 7, 1]))
    #expect(bench.receiver.phase == .off)
    bench.run(.seconds(1))
    #expect(bench.receiver.phase == .searching)
    #expect(bench.receiver.interval == .seconds(1))
  }

  @Test(arguments: ReceiverPersonality.allCases)
  func `a receiver that was left at another speed keeps it without supply`(_ personality: ReceiverPersonality) throws {
    let bench = try ReceiverBench(personality)
    bench.receiver.leave(at: 38400)
    #expect(bench.receiver.speed == 38400)
    bench.setPower(false)
    bench.setPower(true)
    #expect(bench.receiver.speed == 38400)
  }

  /// NAV-PVT and NAV-STATUS of the next epoch.
  private func epoch(_ bench: ReceiverBench) throws -> (pvt: [UInt8], status: [UInt8]) {
    bench.forget()
    bench.run(.seconds(1))
    let pvt = try #require(bench.payloads(1, 7, count: 1).last)
    return (pvt, try #require(bench.payloads(1, 3, count: 1).last))
  }

  private func navigating() throws -> ReceiverBench {
    let bench = try ReceiverBench(.ublox8)
    bench.runUntilFix()
    for id in [UInt8(7), 3] {
      bench.forget()
      try bench.tell(ubx(6, 1, [1, id, 1]))
      #expect(bench.hears(acknowledgement(6, 1)))
    }
    return bench
  }

  @Test(arguments: [true, false])
  func `a spoofed position jumps, with or without a report`(_ isReported: Bool) throws {
    let bench = try navigating()
    let before = try epoch(bench)
    bench.receiver.setFaults { $0.spoofing = ReceiverFaults.Spoofing(metres: 500, isReported: isReported) }
    let after = try epoch(bench)
    // The unit is 1e-7 degrees, or 1.11 cm. The vehicle itself moves by a few metres.
    let metres = Double(word(after.pvt, 28) - word(before.pvt, 28)) * 0.011_13
    #expect(abs(metres - 500) < 50)
    #expect(before.status[7] >> 3 & 3 == 1)
    #expect(after.status[7] >> 3 & 3 == (isReported ? 2 : 1))
  }

  @Test func `a frozen receiver repeats its position while its Doppler continues`() throws {
    let bench = try navigating()
    bench.receiver.setFaults { $0.isFrozen = true }
    let epochs = try (0..<20).map { _ in try epoch(bench).pvt }
    #expect(Set(epochs.map { Array($0[24..<40]) }).count == 1)
    #expect(Set(epochs.map { Array($0[48..<60]) }).count > 5)
    bench.receiver.setFaults { $0.isFrozen = false }
    #expect(try Array(epoch(bench).pvt[24..<40]) != Array(epochs[0][24..<40]))
  }

  @Test func `a receiver reports jamming`() throws {
    let bench = try ReceiverBench(.ublox9)
    bench.receiver.setFaults { $0.jamming = ReceiverFaults.Jamming(state: 3, indicator: 200) }
    try bench.tell(ubx(0x0A, 0x38))
    let radio = try #require(bench.payloads(0x0A, 0x38, count: 1).first)
    #expect(radio[5] & 3 == 3 && radio[20] == 200)
  }

  @Test func `wrong data prevents a position until the receiver forgets it`() throws {
    let bench = try ReceiverBench(.ublox8)
    bench.runUntilFix()
    bench.receiver.setFaults { faults in
      faults.findsNothing = true
      faults.remedy = .warm
    }
    func restart(_ mask: UInt8) throws {
      let count = bench.receiver.starts.count
      try bench.tell(ubx(6, 4, [mask, 0, 2, 0]))
      #expect(bench.receiver.starts.count > count)
      bench.runUntilFix()
    }
    try restart(0)
    #expect(bench.receiver.phase == .searching)
    try restart(1)
    #expect(bench.receiver.phase == .tracking)
  }
}
