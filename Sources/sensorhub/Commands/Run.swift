import ArgumentParser
import Outputs

/// The options of `run`; `HubService` does the work.
struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the hub.",
    discussion: """
      The hub reads and powers no device until a client subscribes. Clients are sensorhub watch, programs that connect \
      to the socket or to a port that the board file opens (gpsd protocol, NMEA 0183, the dashboard), and outputs \
      for which the board file keeps devices awake. The journal is a client if the board file sets 'journal.state'. \
      SIGTERM, Ctrl-C and closing the terminal end the hub and switch every device off; under nohup, closing the terminal \
      does not end it. SIGHUP reloads the board file.

      Without a board file the hub runs on simulated devices, and the outputs mark their measurements as SIMULATED. If \
      a board file or the service is installed on this machine, simulation needs --simulated.

      Example: sensorhub run --board boards/raspberry-pi-5.json5
      """)

  @Option(help: ArgumentHelp("The board file. Default: a simulated board.", valueName: "file"))
  var board: String?

  @Flag(help: "Run on simulated devices, even if the hub is installed as a service.")
  var simulated = false

  @Option(help: ArgumentHelp("The socket that streams the state; devices.sock is next to it.", valueName: "path"))
  var socket: String?

  @Flag(
    inversion: .prefixedNo,
    help: "Write the fused state to the journal once a second. Keeps the devices awake.")
  var journalState: Bool?

  /// Refuses to simulate without `--simulated` on a machine that has the service or its board file, because users could
  /// mistake the simulated values for the board's.
  func requireChoice() throws {
    guard board == nil, !simulated, let refusal = InstalledService().refusalOfSimulation else { return }
    throw CommandError(.unavailable, refusal.message, nextStep: refusal.nextStep)
  }

  func validate() throws {
    if simulated, board != nil { throw ValidationError("--simulated cannot be combined with --board") }
    if socket?.isEmpty == true { throw ValidationError("--socket needs a path, such as /tmp/sensorhub/hub.sock") }
  }
}
