import Fusion
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// A request at a broker for one state, which may have some age.
@Suite(.timeLimit(.minutes(10)))
struct OneStateTests {
  private let sent = Recorder<FusedState>()
  private let hub: Hub
  private let leases: ViewerLeases

  init() throws {
    let board = try Board(json5: Array(HubProcess.simulatedBoard("").utf8), file: "test")
    hub = Hub(board: board, hardware: SimulatedHardware(world: World(start: MonotonicClock().now)))
    leases = ViewerLeases(
      host: HubHost(hub, version: "test"), clock: ManualClock(), send: { [sent] state, _ in sent.append(state) },
      sendFix: { _, _ in }, expired: { _ in })
    leases.connected()
  }

  private func say(_ text: String, _ viewer: String, again isRepeated: Bool = false) {
    leases.receive(
      Array(text.utf8), expirySeconds: nil, isRepeated: isRepeated,
      from: ViewerRequest.Key(viewer: viewer, stream: .part(.attitude)))
  }

  private var wakes: [Int] { hub.devices.map(\.wakes) }

  @Test func `one state is answered from memory without a wake if the last one is fresh enough`() async throws {
    let hour = #"{"rateHz": 0, "maxAge": 3600}"#
    say(hour, "phone")
    #expect(sent.waits { $0.count == 1 })
    for monitor in hub.monitors { #expect(monitor.changes.waits { $0.power == .off }) }
    let woken = wakes
    #expect(woken.reduce(0, +) == 1 && sent.values.first?.attitude != nil)
    say(hour, "tablet")
    #expect(sent.values.count == 2 && sent.values.last?.attitude != nil)
    // A request that the broker repeats after a connection is not a new one, but a request that a viewer repeats is.
    say(hour, "tablet", again: true)
    #expect(sent.values.count == 2)
    say(hour, "tablet")
    #expect(sent.values.count == 3 && wakes == woken)
    say(#"{"rateHz": 0, "maxAge": 0}"#, "phone")
    #expect(sent.waits { $0.count == 4 })
    #expect(wakes.reduce(0, +) == 2)
    leases.end()
    hub.shutDown()
    await hub.isOff()
  }
}
