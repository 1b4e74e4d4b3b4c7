import ArgumentParser
import Hub
import Logging
import Outputs
import Publishing
import ServiceLifecycle
import Simulation
import UnixSignals

struct Run: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run the hub.",
    discussion: """
      Reads nothing and powers nothing until somebody subscribes: sensorhub watch, a client of the socket, or the journal
      where the board file asks for the state there. SIGTERM and Ctrl-C power everything off; SIGHUP reads the board file
      again.

      Example: sensorhub run --board boards/raspberry-pi-5.json5
      """)

  @Option(help: ArgumentHelp("The board file; without it a simulated board.", valueName: "file"))
  var board: String?

  @Option(help: ArgumentHelp("The socket that streams the state; devices.sock lies beside it.", valueName: "path"))
  var socket: String?

  @Flag(
    inversion: .prefixedNo,
    help: "Write the fused state to the journal once a second, whatever the board file says. Keeps the devices awake.")
  var journalState: Bool?

  func run() async throws {
    let source = BoardSource(file: board)
    let sink = JournalSink()
    let hardware = SimulatedHardware()
    let hub = Hub(board: try source.load(), hardware: hardware)
    let host = HubHost(hub)
    let path = socket.map(SocketPath.init) ?? .standard
    let sockets: SocketOutput
    do throws(SocketError) {
      sockets = try SocketOutput(host: host, path: path)
    } catch {
      throw CommandError(error)
    }
    for problem in hub.makeSafe() { sink.write(.warning, problem) }
    sink.write(.notice, "sensorhub \(SensorHub.version): board '\(hub.board.name)', state on \(path.state)")
    var services: [any Service] = [
      sockets, JournalOutput(host: host, sink: sink, writesState: journalState),
      Reloader(source: source, hardware: hardware, host: host, sink: sink),
    ]
    if let interval = ServiceManager.watchdogInterval { services.append(Watchdog(interval: interval)) }
    let group = ServiceGroup(
      configuration: ServiceGroupConfiguration(
        services: services.map { .init(service: $0) }, gracefulShutdownSignals: [.sigterm, .sigint],
        logger: Logger(label: "sensorhub") { _ in SwiftLogNoOpLogHandler() }))
    ServiceManager.ready(status: "board \(hub.board.name)")
    do {
      try await group.run()
    } catch {
      await powerOff(host)
      throw error
    }
    ServiceManager.stopping()
    await powerOff(host)
    sink.write(.notice, "stopped; all power lines are off")
  }

  private func powerOff(_ host: HubHost) async {
    host.hub.value.shutDown()
    await host.hub.value.isOff()
  }
}
