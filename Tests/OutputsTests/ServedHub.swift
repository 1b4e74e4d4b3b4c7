import Guarding
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport

@testable import Outputs

/// A hub with simulated devices and its outputs, on real sockets in the test's process.
final class ServedHub: Sendable {
  let hardware: SimulatedHardware
  let host: HubHost
  let sink: JournalSink
  /// The lines of the log.
  let log = Recorder<String>()
  private let temporary = TemporaryFolder("served")
  private let lifetime = Lifetime()
  private let running: Task<Void, any Error>

  var hub: Hub { host.hub }
  /// The Unix socket of the states.
  var socket: String { temporary.path + "/hub.sock" }
  var recordSocket: String { temporary.path + "/record.sock" }

  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  /// Returns once all outputs listen.
  ///
  /// - Parameters:
  ///   - text: the text of the board file
  ///   - hardware: the simulated devices
  init(board text: String, on hardware: SimulatedHardware = SimulatedHardware()) throws {
    self.hardware = hardware
    let host = HubHost(
      Hub(board: try ServedHub.board(text), hardware: hardware), version: "test", boardText: Array(text.utf8))
    self.host = host
    let sink = JournalSink(to: Nowhere())
    self.sink = sink
    sink.observe { [log] in log.append($0.message) }.store(in: lifetime)
    // A thousand connections need not fit, and other tests need descriptors too.
    let budget = DescriptorBudget(total: 4096)
    let server = try StreamServer(
      host: host, path: SocketPath(temporary.path + "/hub.sock"), sink: sink, budget: budget)
    let web = HTTPOutput(host: host, sink: sink, budget: budget)
    let (fences, requests) = (FenceOutput(host: host, sink: sink), StandingRequestOutput(host: host))
    running = Task {
      async let streams: Void = server.run()
      async let pages: Void = web.run()
      async let watches: Void = fences.run()
      async let standing: Void = requests.run()
      _ = try await (streams, pages, watches, standing)
    }
    // The ports of the streams are open by now.
    if hub.board.http != nil { _ = log.waits { $0.contains { $0.hasPrefix("dashboard on http://") } } }
  }

  static func board(_ text: String) throws -> Board { try Board(json5: Array(text.utf8), file: "test") }

  /// Puts another board file into service, and returns when the old board's devices have stopped.
  ///
  /// - Returns: the problems
  func reload(_ text: String) async throws -> [String]? {
    await host.serve(try ServedHub.board(text), text: Array(text.utf8))
  }

  /// The present status of a device.
  func device(_ id: String) throws -> DeviceStatus {
    guard let status = hub.devices.first(where: { $0.id == id }) else { throw Missing(id: id) }
    return status
  }

  private struct Missing: Error {
    var id: String
  }

  /// Blocks until a device has this state.
  func shows(_ id: String, _ isMet: (DeviceStatus) -> Bool) -> Bool {
    hub.monitors.first { $0.id == id }?.changes.waits(until: isMet) ?? false
  }

  /// Blocks until each device is off, or asleep if its power cannot be switched.
  func comesToRest() -> Bool {
    hub.monitors.allSatisfy { $0.changes.waits { $0.power == .off || $0.power == .asleep } }
  }

  func end() async {
    host.shutDown()
    running.cancel()
    _ = try? await running.value
    lifetime.end()
    _ = await hub.isOff()
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
