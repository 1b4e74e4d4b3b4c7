import Guarding
import Hub
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// Reloads that come faster than the web port can be exchanged.
@Suite(.timeLimit(.minutes(10)))
struct WaitingBoardsTests {
  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  private static func board(_ port: UInt16) throws -> Board {
    try Board(json5: Array("{ name: 'test', http: { port: \(port) } }".utf8), file: "test")
  }

  @Test func `of the boards that wait for the web port, only the newest is served`() async throws {
    let ports = (0..<4).map { _ in SocketClient.freePort() }
    let host = HubHost(Hub(board: try Self.board(ports[0]), hardware: SimulatedHardware()), version: "test")
    let sink = JournalSink(to: Nowhere())
    let (log, lifetime) = (Recorder<String>(), Lifetime())
    sink.observe { log.append($0.message) }.store(in: lifetime)
    let (starts, mayStart) = (Recorder<Bool>(), WakeSignal())
    let output = HTTPOutput(host: host, sink: sink, budget: DescriptorBudget(total: 4096)) { body in
      starts.append(true)
      mayStart.wait()
      return DetachedThread.start("test", body)
    }
    let running = Task { try await output.run() }
    // The output is at work for the first board.
    #expect(starts.waits { $0.count == 1 })
    for index in 0..<20 { host.hub.exchangeBoard(for: try Self.board(ports[1 + index % 2])) }
    host.hub.exchangeBoard(for: try Self.board(ports[3]))
    mayStart.raise()
    #expect(log.waits { $0.contains { $0.hasPrefix("dashboard on http://127.0.0.1:\(ports[3])") } }, "\(log.values)")
    let opened = log.values.filter { $0.hasPrefix("dashboard on") }
    #expect(opened.allSatisfy { line in [ports[0], ports[3]].contains { line.contains(":\($0),") } }, "\(opened)")
    running.cancel()
    try await running.value
    lifetime.end()
    host.shutDown()
    await host.hub.isOff()
  }
}
