import ArgumentParser
import Fusion
import Glibc
import Outputs

/// Shows the fused state.
struct Watch: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the fused state as it changes. Watching wakes the devices.",
    discussion: """
      On a terminal the view is updated in place; otherwise each state is a line.

      Example: sensorhub watch --json | jq .position
      """)

  @Option(help: ArgumentHelp("States a second at most.", valueName: "hz"))
  var rate: Double?

  @Flag(help: "Print one state and exit.")
  var once = false

  @Flag(help: "Print the states as JSON, one a line.")
  var json = false

  @Option(help: ArgumentHelp("The hub's socket.", valueName: "path"))
  var socket: String?

  func validate() throws {
    if let rate, !(0.01...1000).contains(rate) { throw ValidationError("--rate must be from 0.01 to 1000") }
  }

  func run() throws {
    var connection = try HubConnection.open(socket) { $0.state }
    let wanted = rate.map { "\"rateHz\": \($0), " } ?? ""
    connection.send("{\(wanted)\"name\": \"watch\"}")
    var view = StateView()
    let isTerminal = isatty(STDOUT_FILENO) == 1
    while let line = try connection.nextLine() {
      if json {
        guard Terminal.standardOutput(String(decoding: line, as: UTF8.self)) else { return }
      } else if let state = StateReport.read(line) {
        let text = isTerminal && !once ? view.frame(state) : StateLine.text(state)
        guard Terminal.standardOutput(text) else { return }
      }
      if once { return }
    }
    throw CommandError(.unavailable, "the hub has closed the connection", nextStep: "see its log, and start it again")
  }
}
