import Devices
import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// Sleep modes that the hub chooses.
extension ReceiverSleepTests {
  /// Teaches the hub that the receiver's battery is empty and that clients return within the hour.
  private func teachSleep(_ monitor: DeviceMonitor) {
    for _ in 1...6 {
      monitor.usageHistory.learnStart(behind: .off) { $0.started(after: 600, joules: 4, seconds: 30) }
      monitor.usageHistory.learn {
        $0.visited(after: 3000, lingered: nil, LearnedIdleTimeout.Costs(watts: 0.13, assumedJoules: 4))
      }
    }
  }

  @Test
  func `with sleep auto, a receiver sleeps once cold starts are known to be expensive, until the pause is too long`()
    async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "auto","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true, false] && !receiver.requests.values.contains { Self.kind($0) == 0x0241 })
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    teachSleep(try #require(hub.receiver).monitor)
    try await wake(hub, receiver, settings: 2)
    #expect(hardware.levels.values == [true, false, true] && receiver.isAsleep)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    let status = try #require(hub.devices.first)
    #expect(status.warning == nil && status.milliwatts < 1)
    let text = status.idleTimeout?.explanation ?? []
    #expect(
      text.contains {
        $0.hasPrefix("chosen sleep mode: 'backup', which uses the least energy over the usual pause of ")
      }, "\(text)")
    // No visitor comes.
    hardware.clock.advance(by: .seconds(2 * 86_400))
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    #expect(hardware.levels.values == [true, false, true, false])
    // The receiver is found awake.
    try await wake(hub, receiver, settings: 3)
    #expect(Array(hardware.levels.values.prefix(5)) == [true, false, true, false, true])
    #expect(hub.devices.first?.warning == nil)
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.levels.values.last == false)
    receiver.end()
  }

  @Test func `with sleep auto, a receiver that slept too long loses its supply once no other device holds it`()
    async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "auto","#)
    let device = try #require(hub.receiver).device
    teachSleep(device.monitor)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true] && receiver.isAsleep)
    // Another device on the same line is requested, and sleeps later on.
    _ = try device.rail.require(for: "other", after: .zero, Poller(stop: -1))
    hardware.clock.advance(by: .seconds(2 * 86_400))
    #expect(hardware.levels.values == [true] && hub.devices.first?.power == .asleep)
    device.rail.rest("other")
    #expect(hardware.levels.values == [true] && hub.devices.first?.power == .asleep)
    device.rail.endRest(of: "other")
    #expect(hardware.levels.waits { $0 == [true, false] })
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.levels.values == [true, false])
    receiver.end()
  }

  @Test func `with sleep auto, a sleep lasts for its own time, even if a reload ended an earlier sleep`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let clock = hardware.clock
    let power = line + #"sleep: "auto","#
    let hub = try hub(hardware, power: power)
    teachSleep(try #require(hub.receiver).monitor)
    try await wake(hub, receiver, settings: 1)
    let begun = clock.now
    #expect(hardware.levels.values == [true] && receiver.isAsleep)
    let seconds = try #require(hub.devices.first?.idleTimeout?.sleep?.secondsUntilOff)
    // An hour later the receiver's rate changes, which requires another reader.
    clock.advance(by: .seconds(3600))
    let old = hub.monitors
    #expect(await hub.apply(try board(power: power, rateHz: 4)) == [])
    #expect(hardware.levels.values == [true, false])
    try await wake(hub, receiver, settings: 2)
    #expect(hardware.levels.values == [true, false, true] && receiver.isAsleep)
    // The first rest would be over by now, and the second one is not.
    let past = begun + .nanoseconds(Int64(seconds * 1e9)) + .seconds(60) - clock.now
    #expect(past > .seconds(3600))
    clock.advance(by: past)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    #expect(hardware.levels.values == [true, false, true])
    clock.advance(by: .seconds(2 * 86_400))
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    #expect(hardware.levels.values == [true, false, true, false])
    // The timer of the old device switches nothing any more.
    #expect(old[0].status.power == .off)
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `with sleep auto, a receiver without a switch uses its deepest sleep mode`() async throws {
    let receiver = Self.receiver()
    let hub = try hub(WiredHardware(receiver), power: #"sleep: "auto","#)
    #expect(hub.makeSafe().isEmpty)
    #expect(receiver.isAsleep)
    try await wake(hub, receiver, settings: 1)
    #expect(receiver.isAsleep)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    #expect(hub.devices.first?.warning == nil && hub.devices.first.map { $0.milliwatts < 1 } == true)
    try await wake(hub, receiver, settings: 2)
    #expect(receiver.isAsleep)
    receiver.end()
  }
}
