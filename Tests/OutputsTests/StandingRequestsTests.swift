import Fusion
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// Fixes that a board file requests.
@Suite(.timeLimit(.minutes(10)))
struct StandingRequestsTests {
  private func board(_ requests: String) throws -> Board {
    try Board(json5: Array(HubProcess.simulatedBoard("requests: [\(requests)]").utf8), file: "test")
  }

  @Test func `standing requests run without a client, continue over a reload, and end when they are removed`()
    async throws
  {
    let week = "{ name: 'log', every: 604800, accuracy: 100 }"
    let hub = Hub(
      board: try board(week), hardware: SimulatedHardware(world: World(start: MonotonicClock().now)))
    let host = HubHost(hub, version: "test")
    let got = Recorder<StandingRequests.Value>()
    let listening = host.requests.values.subscribe(as: "test", receiveValue: { got.append($0) })
    host.requests.follow(hub.board, on: host)
    #expect(got.waits { $0.count == 1 })
    let value = try #require(got.values.first)
    #expect(value.name == "log" && value.fix.isMet && value.fix.state.position != nil)
    // The receiver sleeps until the next fix.
    for monitor in hub.monitors { #expect(monitor.changes.waits { $0.power == .off }) }
    #expect(hub.devices.map(\.wakes) == [1, 0])
    #expect(hub.devices[0].schedules.map(\.holder) == ["request log"])
    // Another request is added, and does not restart this one.
    host.requests.follow(try board("\(week), { name: 'track', error: 1000 }"), on: host)
    #expect(got.waits { $0.contains { $0.name == "track" } })
    #expect(got.values.count { $0.name == "log" } == 1)
    #expect(hub.devices[0].schedules.map(\.holder).sorted() == ["request log", "request track"])
    host.requests.follow(try board(""), on: host)
    #expect(hub.devices[0].schedules.isEmpty)
    listening.cancel()
    host.shutDown()
    await hub.isOff()
  }
}
