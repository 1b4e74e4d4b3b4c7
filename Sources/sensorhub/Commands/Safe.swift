import ArgumentParser
import Glibc
import HardwareIO
import Hub
import Outputs
import Simulation

/// Drives every power line of a board to its safe level: for when a hub could not do so itself.
struct Safe: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Drive every power line of a board to its safe level, and put chips without one to sleep.",
    discussion: """
      A hub does so whenever it stops. Killed or crashed it cannot, and some kernels keep a line's last level: the \
      systemd unit runs this command after every stop. What that hub had in use is known from a copy of its board file \
      beside its socket; the one that is named here comes in addition. A line that a running hub holds is left to it, \
      and that is an error.

      Example: sensorhub safe /etc/sensorhub/board.json5
      """)

  @Argument(help: "The board file; left out for what a hub that was killed had in use.")
  var board: String?

  @Option(help: ArgumentHelp("The hub's socket.", valueName: "path"))
  var socket: String?

  func run() throws {
    let path = socket.map(SocketPath.init) ?? .standard
    for path in socket == nil ? SocketPath.candidates : [path] {
      guard let running = try? UnixSocket.connect(path.devices) else { continue }
      close(running)
      throw CommandError(
        .unavailable, "a hub is running on \(path.state), and keeps what it uses",
        nextStep: "stop it: it leaves all off")
    }
    let inUse = BoardInUse(beside: path)
    if board == nil, inUse.isHidden {
      throw CommandError(
        .noPermission, "no permission to look for \(inUse.path)", nextStep: "run it as the hub's user, or with sudo")
    }
    if board == nil, !inUse.isThere {
      throw CommandError(
        .noInput, "no hub has left anything on: there is no \(inUse.path)",
        nextStep: "name a board file, or the hub's --socket")
    }
    let report = try makeSafe(inUse, SimulatedHardware())
    guard report.problems.isEmpty else {
      throw CommandError(
        .unavailable, report.problems.joined(separator: "\n"),
        nextStep: report.isHeld ? "a line that is in use belongs to a hub that runs: sensorhub devices shows it" : nil)
    }
    let lines = report.hasPowerLines ? "all power lines are at their safe levels" : "there are no power lines"
    let absent = report.absent.isEmpty ? "" : "; not there to be put to sleep: \(report.absent.joined(separator: ", "))"
    Terminal.standardOutput("\(board ?? inUse.path): \(lines)\(absent)")
  }

  /// A board file that is wrong does not keep on what a hub has left on.
  private func makeSafe(_ inUse: BoardInUse, _ hardware: any Hardware) throws -> SafetyReport {
    let named: Hub?
    do {
      named = try board.map { Hub(board: try BoardSource(file: $0).load(), hardware: hardware) }
    } catch {
      _ = inUse.makeSafe(hardware)
      throw error
    }
    return inUse.makeSafe(hardware, and: named)
  }
}
