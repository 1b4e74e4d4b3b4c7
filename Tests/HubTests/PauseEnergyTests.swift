import Devices
import Hub
import Simulation
import Testing

/// The hub chooses the cheapest way to rest. The energies come from simulated receivers, whose currents and times are
/// from data sheets and unknown to the hub.
struct PauseEnergyTests {
  private func power(_ personality: ReceiverPersonality, _ text: String) throws -> Board.Power {
    let text =
      "{ name: 'x', devices: { gps: { driver: '\(personality.driver.rawValue)', port: 'p', power: { sleep: 'auto'\(text) } } } }"
    return try #require(try Board(json5: Array(text.utf8), file: "board").receiver).power
  }

  private static let `switch` = ", switch: 'gpio', chip: 'c', line: 'l'"

  /// The margin of the comparison: times differ by an eighth from start to start, and 100 ms of a search are 3 µWh.
  private let margin = (part: 0.25, milliwattHours: 0.02)

  @Test(arguments: ReceiverPersonality.allCases, [1, 10, 60])
  func `the chosen sleep mode uses no more energy than any other`(_ personality: ReceiverPersonality, _ minutes: Int)
    throws
  {
    for isSwitched in [true, false] {
      for hasBattery in [true, false] where hasBattery || isSwitched && personality.driver.isHelped {
        let text = (isSwitched ? Self.switch : "") + (hasBattery ? "" : ", backupBattery: false")
        if personality.driver.sleeps(isSwitched: isSwitched).isEmpty { continue }
        let power = try power(personality, text)
        let ways = SleepChoice.ways(of: personality.driver, power, watts: power.milliwatts / 1000)
        let chosen = try #require(SleepChoice(ways, for: .scheduled(Double(60 * minutes))).chosen)
        let energies = ways.compactMap { way in
          ReceiverPause(personality, way.sleep, hasBackupSupply: hasBattery).milliwattHours(of: .seconds(60 * minutes))
            .map { (sleep: way.sleep, energy: $0) }
        }
        #expect(energies.count == ways.count)
        let least = try #require(energies.map(\.energy).min())
        let taken = try #require(energies.first { $0.sleep == chosen.sleep }).energy
        #expect(
          taken <= (1 + margin.part) * least + margin.milliwattHours,
          "\(minutes) min, \(text): \(chosen.sleep), and it takes \(energies)")
        let on = try #require(ReceiverPause(personality, nil).milliwattHours(of: .seconds(60 * minutes)))
        #expect(taken < on)
      }
    }
  }
}
