import ArgumentParser
import Outputs

/// The options of `run`; `HubService` does the work.
struct Run: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the hub.",
    discussion: """
      Reads nothing and powers nothing until somebody subscribes: sensorhub watch, a client of the socket or of the \
      ports that the board file opens (gpsd protocol, NMEA 0183, the dashboard), or the journal where the board file \
      asks for the state there. SIGTERM, Ctrl-C and a terminal that is closed end it, with everything powered off \
      (nohup keeps it); SIGHUP reads the board file again.

      Without a board file it runs on simulated devices, and says SIMULATED wherever their measurements are shown. Where \
      a board file or the service is installed that takes --simulated.

      Example: sensorhub run --board boards/raspberry-pi-5.json5
      """)

  @Option(help: ArgumentHelp("The board file; without it a simulated board.", valueName: "file"))
  var board: String?

  @Flag(help: "Run on simulated devices, also where the hub is installed as a service.")
  var simulated = false

  @Option(help: ArgumentHelp("The socket that streams the state; devices.sock is next to it.", valueName: "path"))
  var socket: String?

  @Flag(
    inversion: .prefixedNo,
    help: "Write the fused state to the journal once a second. Keeps the devices awake.")
  var journalState: Bool?

  /// Refuses to simulate on a machine on which the service is installed, because users could take the simulated values
  /// for the board's.
  func requireChoice() throws {
    guard board == nil, !simulated, let refusal = InstalledService().refusalOfSimulation else { return }
    throw CommandError(.unavailable, refusal.message, nextStep: refusal.nextStep)
  }

  func validate() throws {
    if simulated, board != nil { throw ValidationError("--simulated goes without --board") }
    if socket?.isEmpty == true { throw ValidationError("--socket needs a path, such as /tmp/sensorhub/hub.sock") }
  }
}
