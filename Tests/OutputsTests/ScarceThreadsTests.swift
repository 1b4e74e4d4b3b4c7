import Glibc
import Guarding
import Hub
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// Outputs of a hub while the system has no thread left.
@Suite(.timeLimit(.minutes(10)))
struct ScarceThreadsTests {
  private struct Nowhere: LogDestination {
    func write(_ entry: LogEntry) {}
  }

  @Test func `a web port for which there is no thread is reported, and is served after a reload`() async throws {
    let board = try Board(
      json5: Array("{ name: 'test', http: { port: \(SocketClient.freePort()) } }".utf8), file: "test")
    let host = HubHost(Hub(board: board, hardware: SimulatedHardware()), version: "test")
    let sink = JournalSink(to: Nowhere())
    let (log, lifetime) = (Recorder<String>(), Lifetime())
    sink.observe { log.append($0.message) }.store(in: lifetime)
    let isLacking = Guarded(true)
    let output = HTTPOutput(host: host, sink: sink, budget: DescriptorBudget(total: 4096)) { body in
      isLacking.withLock { $0 } ? EAGAIN : DetachedThread.start("test", body)
    }
    let running = Task { try await output.run() }
    let isReported = log.waits { lines in
      lines.contains { $0.hasPrefix("the dashboard is not served on ") && $0.contains("cannot start a thread: ") }
    }
    #expect(isReported, "\(log.values)")
    isLacking.withLock { $0 = false }
    #expect(await host.serve(board) == [])
    #expect(log.waits { $0.contains { $0.hasPrefix("dashboard on http://") } }, "\(log.values)")
    running.cancel()
    try await running.value
    lifetime.end()
    host.shutDown()
    await host.hub.isOff()
  }
}
