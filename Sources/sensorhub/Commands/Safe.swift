import ArgumentParser
import HardwareIO
import Hub
import Simulation

/// Drives every power line of a board to its safe level: for when a hub could not do so itself.
struct Safe: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Drive every power line of a board to its safe level.",
    discussion: """
      A hub does so whenever it stops. Killed or crashed it cannot, and some kernels keep a line's last level: the systemd
      unit runs this command after every stop. A line that a running hub holds is left to it, and that is an error.

      Example: sensorhub safe /etc/sensorhub/board.json5
      """)

  @Argument(help: "The board file.")
  var board: String

  func run() throws {
    let hub = Hub(board: try BoardSource(file: board).load(), hardware: SimulatedHardware())
    let problems = hub.makeSafe()
    guard problems.isEmpty else {
      throw CommandError(
        .unavailable, problems.joined(separator: "\n"),
        nextStep: "a line that is in use belongs to a hub that runs: sensorhub devices shows it")
    }
    Terminal.standardOutput("\(board): all power lines are at their safe levels")
  }
}
