import Guarding
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// The sleep of a receiver without a switch.
extension ReceiverSleepTests {
  @Test func `a receiver without a switch is made safe by putting it to sleep`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: #"sleep: "backup","#)
    #expect(hub.makeSafe().isEmpty)
    #expect(receiver.isAsleep)
    #expect(hardware.ports.values == ["open", "closed"])
    // The sleeping receiver is silent, and is left alone.
    #expect(hub.makeSafe().isEmpty)
    receiver.end()
  }

  /// Subscribes to the receiver, and cancels the subscription as soon as the port is open.
  private func glance(_ hub: Hub, _ hardware: WiredHardware) async throws {
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    await hardware.ports.first(1)
    lease.cancel()
    await hub.isOff()
  }

  @Test func `after a first visit too short to identify the receiver, it is identified and put to sleep`() async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: #"sleep: "backup","#)
    try await glance(hub, hardware)
    #expect(receiver.isAsleep)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    #expect(hub.devices.first?.warning == nil)
    // The next visit wakes the receiver.
    try await wake(hub, receiver, settings: 1)
    #expect(receiver.isAsleep)
    receiver.end()
  }

  @Test func `a receiver that stays awake is shown as awake, with the reason and its power`() async throws {
    let isDeaf = Guarded(true)
    let receiver = Self.receiver { isDeaf.withLock { $0 } ? .silence : Self.answer($0) }
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: #"sleep: "backup","#)
    try await glance(hub, hardware)
    #expect(!receiver.isAsleep)
    #expect(hub.monitors[0].changes.waits { $0.power == .awake })
    let status = try #require(hub.devices.first)
    #expect(status.warning?.contains("could not be put to sleep") == true && status.milliwatts > 1)
    // The receiver is asked again as soon as a client comes.
    isDeaf.withLock { $0 = false }
    try await wake(hub, receiver, settings: 1)
    #expect(receiver.isAsleep)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    receiver.end()
  }

  @Test func `a receiver is also put to sleep after a run that failed`() async throws {
    // The receiver is silent once it has been configured, but still obeys.
    let receiver = Self.receiver { request in
      Self.kind(request) == 0x0608 && request.count == 14
        ? .fallsSilent(saying: MadeMessage.ubx(0x0501, [0x06, 0x08])) : Self.answer(request)
    }
    let hub = try hub(WiredHardware(receiver), power: #"sleep: "backup","#)
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    await receiver.requests.values { $0.contains { Self.kind($0) == 0x0241 } }
    lease.cancel()
    await hub.isOff()
    receiver.end()
  }

  @Test func `a receiver that keeps sending at another speed does not count as asleep`() async throws {
    let receiver = Self.receiver { Self.kind($0) == 0x0241 ? .goesTo(38400, saying: []) : Self.answer($0) }
    let hub = try hub(WiredHardware(receiver), power: #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hub.monitors[0].changes.waits { $0.power == .awake })
    #expect(hub.devices.first?.warning?.contains("keeps sending") == true)
    receiver.end()
  }

  @Test func `a receiver that was left at another speed is made safe at that speed`() throws {
    let receiver = ScriptedReceiver(speed: 38400, reacting: Self.answer)
    let hub = try hub(WiredHardware(receiver), power: #"sleep: "backup","#)
    #expect(hub.makeSafe().isEmpty)
    #expect(receiver.isAsleep)
    receiver.end()
  }
}
