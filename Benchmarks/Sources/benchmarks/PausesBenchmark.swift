import Hub
import Simulation

/// The energy of pauses of 1, 10 and 60 minutes for each simulated receiver and sleep mode, including the start
/// afterwards, and the choice of `sleep: "auto"` before it has learnt anything. Prints a table for the documentation.
struct PausesBenchmark {
  private static let minutes = [1, 10, 60]

  func run() {
    print("| receiver | memory | on | stop | standby | backup | off | auto |")
    print("|---|---|---|---|---|---|---|---|")
    for personality in ReceiverPersonality.allCases {
      for hasBattery in [true, false] where hasBattery || personality.driver.isHelped {
        print(line(personality, hasBattery: hasBattery))
      }
    }
  }

  /// The milliwatt-hours of the three pauses.
  private func line(_ personality: ReceiverPersonality, hasBattery: Bool) -> String {
    let text = """
      { name: "pauses", devices: { gps: { driver: "\(personality.driver.rawValue)", port: "p",
        power: { switch: "gpio", chip: "c", line: "l", sleep: "auto", backupBattery: \(hasBattery) } } } }
      """
    guard let board = try? Board(json5: Array(text.utf8), file: "pauses"), let power = board.receiver?.power else {
      return "\(personality.rawValue): no board"
    }
    let ways = SleepChoice.ways(of: personality.driver, power, watts: power.milliwatts / 1000)
    func cell(_ name: String) -> String {
      let way = ways.first { $0.sleep.rawValue == name }
      guard way != nil || name == "on" else { return "" }
      let pause = ReceiverPause(personality, way?.sleep, hasBackupSupply: hasBattery)
      return PausesBenchmark.minutes.map { minutes in
        pause.milliwattHours(of: .seconds(60 * minutes)).map { fixed($0, 2) } ?? "?"
      }.joined(separator: ", ")
    }
    let chosen = PausesBenchmark.minutes.map { minutes in
      SleepChoice(ways, for: .scheduled(Double(60 * minutes))).chosen?.sleep.rawValue ?? "on"
    }
    let cells = ["on", "stop", "standby", "backup", "off"].map(cell)
    return "| \(personality.rawValue) | \(hasBattery ? "battery" : "none") | "
      + (cells + [chosen.joined(separator: ", ")]).joined(separator: " | ") + " |"
  }
}
