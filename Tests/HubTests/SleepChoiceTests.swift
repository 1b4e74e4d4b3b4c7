import Devices
import MonotonicTime
import TestSupport
import Testing

@testable import Hub

/// The choice of the cheapest way to rest.
struct SleepChoiceTests {
  private func power(_ text: String, driver: String = "ublox") throws -> Board.Power {
    let text = "{ name: 'x', devices: { gps: { driver: '\(driver)', port: 'p', power: { \(text) } } } }"
    return try #require(try Board(json5: Array(text.utf8), file: "board").receiver).power
  }

  private let switched = "sleep: 'auto', switch: 'gpio', chip: 'c', line: 'l'"

  private func choice(
    _ power: Board.Power, _ pause: SleepChoice.Pause, of driver: ReceiverDriver = .ublox,
    learnt: [ReceiverSleep: RestartCosts] = [:]
  ) -> SleepChoice {
    SleepChoice(SleepChoice.ways(of: driver, power, watts: power.milliwatts / 1000, learnt: learnt), for: pause)
  }

  private func starts(joules: Double) -> RestartCosts {
    var costs = RestartCosts()
    costs.started(after: 60, joules: joules, seconds: 10 * joules)
    return costs
  }

  @Test func `for a pause of unknown length the supply is off, or without a switch the cheapest sleep mode is used`()
    throws
  {
    #expect(choice(try power(switched), .unknown).chosen?.sleep == .off)
    #expect(choice(try power(switched + ", backupBattery: false"), .unknown).chosen?.sleep == .off)
    #expect(choice(try power("sleep: 'auto'"), .unknown).chosen?.sleep == .backup)
    #expect(choice(try power("sleep: 'auto'", driver: "mediatek"), .unknown, of: .mediatek).chosen?.sleep == .standby)
    // Without a switch the receiver cannot be woken from any sleep mode.
    #expect(choice(try power("sleep: 'auto'", driver: "auto"), .unknown, of: .casic).chosen == nil)
  }

  @Test func `a receiver that forgets everything without its supply keeps it for an hour, but not for a day`() throws {
    let power = try power(switched + ", backupBattery: false")
    for minutes in [10.0, 60] {
      #expect(choice(power, .scheduled(60 * minutes)).chosen?.sleep == .backup, "\(minutes) min")
    }
    #expect(choice(power, .scheduled(86_400)).chosen?.sleep == .off)
    // With a battery nothing is lost by switching off.
    #expect(choice(try self.power(switched), .scheduled(600)).chosen?.sleep == .off)
  }

  @Test func `measured starts count more than data sheets`() throws {
    let power = try power(switched)
    // The receiver's battery is empty.
    let learnt: [ReceiverSleep: RestartCosts] = [.off: starts(joules: 4), .backup: starts(joules: 0.2)]
    let chosen = choice(power, .learnt(600), learnt: learnt)
    #expect(chosen.chosen?.sleep == .backup)
    let text = chosen.explanation
    #expect(
      text.first == "chosen sleep mode: 'backup', which uses the least energy over the usual pause of 600 s", "\(text)")
    #expect(
      text.contains { $0.hasPrefix("  off: 0 mW, 4 J for the start (from 1 of its starts), 4 J in all") }, "\(text)")
    #expect(text.contains { $0.hasPrefix("  stop: 33 mW, ") && $0.contains("(from data sheets)") }, "\(text)")
    #expect(text.last?.hasSuffix("the hub switches the supply off") == true, "\(text)")
  }

  @Test(arguments: [ReceiverDriver.ublox, .mediatek, .airoha, .casic])
  func `the choice never costs more than switching off for the expected pause, nor twice that for a longer one`(
    _ driver: ReceiverDriver
  ) throws {
    var chance = SeededRandom()
    let keys = [switched] + (driver.isHelped ? [switched + ", backupBattery: false"] : [])
    for power in try keys.map({ try power($0, driver: driver.rawValue) }) {
      for _ in 0..<200 {
        var learnt: [ReceiverSleep: RestartCosts] = [:]
        for sleep in ReceiverSleep.allCases where Bool.random(using: &chance) {
          learnt[sleep] = starts(joules: Double.random(in: 0.05...5, using: &chance))
        }
        let expected = Double.random(in: 1...7000, using: &chance)
        let choice = choice(power, .learnt(expected), of: driver, learnt: learnt)
        let chosen = try #require(choice.chosen)
        let off = try #require(choice.ways.first { $0.sleep == .off })
        #expect(chosen.joules(of: expected) <= off.joules(of: expected))
        guard let end = choice.secondsUntilOff else { continue }
        // The pause lasts longer than expected and ends at the most expensive moment.
        let spent = chosen.restWatts * end + max(off.startJoules(after: 0), off.keepsMemory ? 0 : off.assumedColdJoules)
        let least = min(chosen.joules(of: min(end, 7200)), off.joules(of: min(end, 7200)))
        if end <= 7200, off.keepsMemory { #expect(spent <= 2 * least + 0.001, "\(choice)") }
      }
    }
  }

  @Test func `a sleep mode chosen for a scheduled fix is not ended before its wake`() throws {
    // Without its supply the receiver's knowledge stays valid for some hours.
    var (off, backup) = (starts(joules: 0.2), starts(joules: 0.2))
    off.started(after: 21_600, joules: 40, seconds: 300)
    backup.started(after: 21_600, joules: 1, seconds: 8)
    let choice = choice(try power(switched), .scheduled(21_600), learnt: [.off: off, .backup: backup])
    #expect(choice.chosen?.sleep == .backup)
    #expect(choice.secondsUntilOff.map { $0 > 21_600 } == true, "\(choice)")
    #expect(choice.explanation.first?.hasSuffix("the 21600 s until the next scheduled wake") == true, "\(choice)")
  }

  @Test func `the expected pause is the mean of earlier pauses that lasted at least as long as this one`() {
    var learned = LearnedIdleTimeout()
    let costs = LearnedIdleTimeout.Costs(watts: 0.1, assumedJoules: 3)
    #expect(learned.expectedPause(after: 0) == nil)
    for _ in 0..<10 {
      learned.visited(after: 10, lingered: nil, costs)
      learned.visited(after: 600, lingered: nil, costs)
    }
    let (first, later) = (learned.expectedPause(after: 0), learned.expectedPause(after: 60))
    #expect(first.map { (250...360).contains($0) } == true, "\(String(describing: first))")
    #expect(later.map { (480...600).contains($0) } == true, "\(String(describing: later))")
    #expect(learned.expectedPause(after: 3600) == nil)
  }
}
