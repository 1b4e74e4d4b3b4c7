import Guarding
import HardwareIO
import Publishing
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// Reloads of the board file at the moment when the peers, or the whole hub, must end.
@Suite(.timeLimit(.minutes(10)))
struct PeersTests {
  private struct Link: PeerLink {
    let name: String
    let steps: Recorder<String>

    func start() { steps.append("start \(name)") }
    func end() { steps.append("end \(name)") }
  }

  private func board(_ name: String) throws -> Board {
    try Board(
      json5: Array("{ name: '\(name)', devices: { gps: { driver: 'nmea', port: '/dev/\(name)' } } }".utf8), file: "x")
  }

  /// Serves one peer, which is named after the board.
  ///
  /// - Parameter whileConnecting: called with the name of each new peer
  private func serve(
    _ hub: Hub, _ steps: Recorder<String>, whileConnecting: @escaping @Sendable (String) -> Void = { _ in }
  ) -> Task<Void, Never> {
    Task {
      await hub.servePeers(as: "test", { $0.name }) { name in
        steps.append("connect \(name)")
        whileConnecting(name)
        return [Peer(values: Subscription {}, link: Link(name: name, steps: steps))]
      }
    }
  }

  @Test func `a reload that is under way while the output ends starts no link`() async throws {
    let hub = Hub(board: try board("one"), hardware: LinuxHardware())
    let two = try board("two")
    let (steps, hasEnded) = (Recorder<String>(), WakeSignal())
    let output = serve(hub, steps) { if $0 == "two" { hasEnded.wait() } }
    #expect(steps.waits { $0.contains("start one") })
    let error = DetachedThread.start("reload") {
      hub.exchangeBoard(for: two)
      steps.append("reloaded")
    }
    #expect(error == 0)
    // The output ends while the reload makes the new link.
    #expect(steps.waits { $0.contains("connect two") })
    output.cancel()
    await output.value
    hasEnded.raise()
    #expect(steps.waits { $0.contains("reloaded") })
    #expect(steps.values == ["connect one", "start one", "connect two", "end one", "end two", "reloaded"])
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a hub that ends during a reload connects to no peer of the new board`() async throws {
    let hub = Hub(board: try board("one"), hardware: LinuxHardware())
    let steps = Recorder<String>()
    // A signal that arrives during the reload, just before the peers get the new board.
    let signal = hub.registry.subscribe(
      as: "signal",
      receiveValue: { [weak hub] registry in
        guard let hub, registry.board.name == "two" else { return }
        #expect(DetachedThread.start("signal", { hub.shutDown() }) == 0)
        hold { hub.isEnding }
      })
    let output = serve(hub, steps)
    #expect(steps.waits { $0.contains("start one") })
    hub.exchangeBoard(for: try board("two"))
    output.cancel()
    await output.value
    #expect(steps.values == ["connect one", "start one", "end one"])
    signal.cancel()
    await hub.isOff()
  }
}
