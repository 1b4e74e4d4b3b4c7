import MonotonicTime
import Simulation
import TestSupport
import Testing

/// A receiver on a serial line that has a carrier-phase solution soon after the first correction message, and its hub.
struct CorrectedReceiver {
  let receiver: CommandedReceiver
  /// The port of the hub's dashboard.
  let http = SocketClient.freePort()
  private let port: String

  init() throws {
    var configuration = CommandedReceiver.Configuration()
    configuration.timeToFirstFixScale = 0.02
    configuration.takesCorrections = true
    receiver = CommandedReceiver(
      .ublox9, world: World(start: MonotonicClock().now), configuration: configuration)
    receiver.setPower(true)
    port = try receiver.plugIn()
  }

  /// Starts a hub that gets corrections for the receiver.
  /// - Parameters:
  ///   - ntrip: the keys of the receiver's `ntrip`
  ///   - outputs: more outputs of the board, each with a comma at its end
  func hub(_ ntrip: String, outputs: String = "", environment: [String] = []) -> HubProcess {
    let hub = HubProcess(board: board(ntrip, outputs: outputs), ["--no-journal-state"], environment: environment)
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    return hub
  }

  /// The text of a board file with the receiver; see `hub`.
  func board(_ ntrip: String, outputs: String = "") -> String {
    """
    { name: "test",
      devices: { gps: { driver: "ublox", port: "\(port)", rateHz: 5, messages: "ubx", ntrip: { \(ntrip) },
        power: { lingerSeconds: 0.2 } } },
      \(outputs) http: { port: \(http) } }
    """
  }

  /// The body of the dashboard's answer.
  func body(_ path: String) -> String { HTTPAnswer(http, "GET", path).body }

  /// A client of the dashboard's events.
  func subscriber() -> SocketClient {
    let stream = SocketClient(port: http)
    stream.send("GET /events?rate=10 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return stream
  }
}
