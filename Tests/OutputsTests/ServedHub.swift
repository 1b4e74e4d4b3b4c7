import Guarding
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// A hub in the test's process that serves the outputs of its board on real sockets, as the program does.
///
/// ```swift
/// let hub = try ServedHub("gpsd: { port: \(port) }")
/// let client = WireClient(port: port)
/// client.send("?WATCH={\"enable\":true,\"json\":true};")
/// #expect(client.receives("\"mode\":3"))
/// client.leave()
/// #expect(hub.comesToRest())
/// await hub.end()
/// ```
final class ServedHub: Sendable {
  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  let host: HubHost
  let log = Recorder<String>()
  let path: SocketPath
  private let folder = TemporaryFolder("served")
  private let lifetime = Lifetime()
  private let web: HTTPOutput
  private let services: [Task<Void, any Error>]

  var hub: Hub { host.hub }
  /// The holds over the web port.
  var holds: DeviceHolds { web.holds }
  /// The Unix socket of the states.
  var socket: String { folder.path + "/hub.sock" }
  var recordSocket: String { folder.path + "/record.sock" }

  /// - Parameter ports: the sections of the board file that open ports, next to the simulated receiver and IMU
  convenience init(
    _ ports: String, on hardware: SimulatedHardware = SimulatedHardware(),
    clientClock: any MonotonicTimeSource = MonotonicClock()
  ) throws {
    try self.init(board: HubProcess.simulatedBoard(ports), on: hardware, clientClock: clientClock)
  }

  /// - Parameter board: the text of the board file
  convenience init(
    board: String, on hardware: SimulatedHardware = SimulatedHardware(),
    clientClock: any MonotonicTimeSource = MonotonicClock()
  ) throws {
    try self.init(board: board, on: Machine(hardware: hardware), clientClock: clientClock)
  }

  /// - Parameters:
  ///   - board: the text of the board file
  ///   - machine: the devices, with their clock
  ///   - clientClock: the clock of the holds over the web port, and of the wait for the first request of a client of
  ///     the state
  ///   - calibrations: stores the results of calibrations; `nil` if the hub cannot calibrate
  init(
    board: String, on machine: Machine, clientClock: any MonotonicTimeSource = MonotonicClock(),
    calibrations: (any CalibrationStore)? = nil
  ) throws {
    host = HubHost(
      Hub(board: try ServedHub.board(board), on: machine), version: "test", boardText: Array(board.utf8),
      calibrations: calibrations)
    path = SocketPath(folder.path + "/hub.sock")
    let sink = JournalSink(to: Nowhere())
    sink.observe { [log] in log.append($0.message) }.store(in: lifetime)
    let budget = DescriptorBudget.raised()
    let server = try StreamServer(host: host, path: path, sink: sink, budget: budget, requestClock: clientClock)
    let journal = JournalOutput(host: host, sink: sink, writesState: false)
    let web = HTTPOutput(host: host, sink: sink, budget: budget, clock: clientClock) {
      DetachedThread.start("web port", $0)
    }
    let datagrams = NMEADatagramOutput(host: host, sink: sink)
    let corrections = CorrectionsOutput(host: host, sink: sink)
    let (fences, requests) = (FenceOutput(host: host, sink: sink), StandingRequestOutput(host: host))
    self.web = web
    // Tests that run as root have hooks too.
    let hooks = HookOutput(host: host, sink: sink, isRoot: false)
    services = [
      Task { try await server.run() }, Task { try await journal.run() }, Task { try await web.run() },
      Task { try await datagrams.run() }, Task { try await corrections.run() }, Task { try await fences.run() },
      Task { try await requests.run() }, Task { try await hooks.run() },
    ]
    // Clients find the Unix sockets and the stream ports at once. The web port opens later.
    if hub.board.http != nil { #expect(logs("dashboard on")) }
  }

  deinit {
    host.shutDown()
    for service in services { service.cancel() }
  }

  private static func board(_ text: String) throws -> Board { try Board(json5: Array(text.utf8), file: "test") }

  /// Puts another board file into service.
  func reload(_ text: String) async throws {
    #expect(await host.serve(try ServedHub.board(text), text: Array(text.utf8)) == [])
  }

  /// Switches all devices off, and ends all outputs.
  func end() async {
    host.shutDown()
    for service in services { service.cancel() }
    for service in services { _ = await service.result }
    #expect(await hub.isOff() == [])
    lifetime.end()
  }

  /// Blocks until the log contains `text`.
  func logs(_ text: String) -> Bool { log.waits { $0.contains { $0.contains(text) } } }

  /// The present status of a device.
  func device(_ id: String) throws -> DeviceStatus { try #require(hub.devices.first { $0.id == id }) }

  /// Whether no device was ever switched on.
  var hasWokenNothing: Bool { hub.devices.allSatisfy { $0.wakes == 0 && $0.power.isRest } }

  /// Blocks until a device of the present board has one of these states.
  func shows(_ id: String, _ powers: DeviceStatus.Power...) -> Bool {
    hub.monitors.first { $0.id == id }?.changes.waits { powers.contains($0.power) } ?? false
  }

  /// Blocks until a device of the present board has this status. A change of its holders alone changes no other value,
  /// so this looks again after each change of its subscribers too.
  func shows(_ id: String, _ isMet: (DeviceStatus) -> Bool) -> Bool {
    hub.waits { hub.devices.first { $0.id == id }.map(isMet) ?? false }
  }

  /// Blocks until all devices are off, or asleep if their power cannot be switched.
  func comesToRest() -> Bool {
    hub.monitors.allSatisfy { $0.changes.waits { $0.power == .off || $0.power == .asleep } }
  }
}

/// A web port, and requests to it.
struct WebPort {
  struct Answer {
    var status: Int
    var head: String
    var body: String
  }

  let number = SocketClient.freePort()

  /// The section of a board file.
  var section: String { "http: { port: \(number) }" }

  /// Sends one request on a connection of its own, and blocks until the answer is complete.
  func ask(_ method: String, _ path: String, _ headers: [String] = [], body: String = "") -> Answer {
    let client = SocketClient(port: number)
    let named = headers.contains { $0.hasPrefix("Host:") } ? [] : ["Host: localhost"]
    let length = body.isEmpty ? [] : ["Content-Length: \(body.utf8.count)"]
    let lines = ["\(method) \(path) HTTP/1.1"] + named + length + headers + ["Connection: close", "", ""]
    client.send(lines.joined(separator: "\r\n") + body)
    _ = client.waitsForEnd()
    let text = client.text
    guard let end = text.firstRange(of: "\r\n\r\n") else { return Answer(status: 0, head: text, body: "") }
    let head = text[..<end.lowerBound]
    let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
    return Answer(status: status, head: String(head), body: String(text[end.upperBound...]))
  }

  /// Opens an event stream.
  func events(_ query: String) -> SocketClient {
    let client = SocketClient(port: number)
    client.send("GET /events?\(query) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client
  }
}
