import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// The duration of clients' requests continues to count down while the machine is suspended.
struct SuspendedHoldsTests {
  private let clock = ManualClock()
  private let hub: Hub
  private let host: HubHost

  init() throws {
    let board = try Board(json5: Array(HubProcess.simulatedBoard("").utf8), file: "test")
    hub = Hub(board: board, hardware: SimulatedHardware(world: World(start: MonotonicClock().now)))
    host = HubHost(hub, version: "test")
  }

  private func end() async {
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a device's hold ends after its time, even if the machine was suspended in that time`() async throws {
    let holds = DeviceHolds(host: host, clock: clock)
    let device = try #require(hub.devices.first?.id)
    let hold = try holds.hold(device, for: .seconds(60), as: "test", of: .keeper)
    clock.suspend(for: .seconds(50))
    #expect(holds.all.map(\.remaining) == [.seconds(10)])
    clock.advance(by: .seconds(9))
    #expect(holds.all.map(\.id) == [hold.id])
    clock.advance(by: .seconds(1))
    #expect(holds.all.isEmpty)
    _ = try holds.hold(device, for: .seconds(60), as: "test", of: .keeper)
    clock.suspend(for: .seconds(3600))
    #expect(holds.all.isEmpty)
    await end()
  }

  @Test func `a viewer's request ends after its time, even if the machine was suspended in that time`() async {
    let phone = ViewerRequest.Key(viewer: "phone", stream: .part(.attitude))
    let expired = Recorder<ViewerRequest.Key>()
    let leases = ViewerLeases(
      host: host, clock: clock, send: { _, _ in }, sendFix: { _, _ in }, expired: { expired.append($0) })
    leases.connected()
    leases.receive(Array(#"{"for": 60}"#.utf8), expirySeconds: nil, from: phone)
    clock.suspend(for: .seconds(50))
    clock.advance(by: .seconds(9))
    #expect(expired.values.isEmpty && leases.audience.value.viewers == ["phone"])
    clock.advance(by: .seconds(1))
    #expect(expired.values == [phone] && leases.audience.value.viewers.isEmpty)
    leases.end()
    await end()
  }
}
