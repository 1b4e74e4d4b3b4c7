import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// A receiver that sleeps only for a time is put to sleep again.
extension ReceiverSleepTests {
  /// Waits until the receiver has been told to sleep `count` times, its reader has ended, and the hub counts it as
  /// asleep.
  ///
  /// The three waits cannot miss an event, because each event comes only after the one before it. The command comes from
  /// a reader that is at work, so the next end is that reader's. Before its end, the reader sets the timer for the next
  /// time. A test must not move the clock before that end, because the timer's action does nothing while the device's
  /// reader is at work. The status follows from the end, and does not change until the timer is due.
  private func isAsleepAgain(_ receiver: ScriptedReceiver, _ hub: Hub, count: Int) async -> Bool {
    await receiver.requests.values { requests in requests.count { Self.kind($0) == 0x0241 } >= count }
    await hub.isOff()
    return sleeps(receiver) == count && hub.monitors[0].changes.waits { $0.power == .asleep }
  }

  @Test func `a sleeping receiver without a switch is put to sleep again before it would wake by itself`() async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    for count in 2...3 {
      hardware.clock.advance(by: .seconds(11 * 86_400))
      #expect(sleeps(receiver) == count - 1 && receiver.isAsleep)
      hardware.clock.advance(by: .seconds(86_400 - 3600))
      #expect(await isAsleepAgain(receiver, hub, count: count), "\(hub.devices)")
      #expect(receiver.isAsleep)
    }
    // The receiver's clock continues while the machine is suspended.
    hardware.clock.suspend(for: .seconds(12 * 86_400))
    #expect(await isAsleepAgain(receiver, hub, count: 4), "\(hub.devices)")
    // No client has used the receiver.
    #expect(hub.devices.first?.idleTimeout?.learned.gapCount == 0 && hub.devices.first?.holders == [])
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `a receiver put to sleep at the hub's start is put to sleep again before its sleep ends`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: #"sleep: "backup","#)
    #expect(hub.makeSafe().isEmpty)
    #expect(receiver.isAsleep && sleeps(receiver) == 1)
    hardware.clock.advance(by: .seconds(12 * 86_400 - 3600))
    #expect(await isAsleepAgain(receiver, hub, count: 2), "\(hub.devices)")
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `a sleeping receiver is put to sleep again while another device holds its supply, and otherwise loses it`()
    async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    let rail = try #require(hub.receiver).device.rail
    _ = try rail.require(for: "other", after: .zero, Poller(stop: -1))
    hardware.clock.advance(by: .seconds(12 * 86_400 - 3600))
    #expect(await isAsleepAgain(receiver, hub, count: 2), "\(hub.devices)")
    #expect(receiver.isAsleep && hardware.levels.values == [true])
    rail.release(for: "other")
    #expect(hardware.levels.values == [true])
    hardware.clock.advance(by: .seconds(12 * 86_400 - 3600))
    #expect(hardware.levels.waits { $0 == [true, false] })
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    #expect(sleeps(receiver) == 2)
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `a receiver that ignores all bytes while it sleeps is put to sleep again once it has woken`() async throws
  {
    let receiver = ScriptedReceiver(wakes: false) { request in
      let text = String(decoding: request.prefix { $0 != UInt8(ascii: "*") }, as: UTF8.self)
      if text == "$PCAS06,0" { return .says(Array(nmeaLine("GPTXT,01,01,02,SW=URANUS5,V5.1.0.0").utf8)) }
      if text.hasPrefix("$PCAS12") { return .fallsAsleep }
      return request.first == 0xBA
        ? .says(MadeMessage.casic(0x0501, [request[4], request[5], 0, 0])) : .silence
    }
    let hardware = WiredHardware(receiver)
    let text = """
      { name: "test", devices: { gps: { driver: "casic", port: "/dev/gps", speed: 9600, rateHz: 5,
        power: { \(line) sleep: "standby", lingerSeconds: 0 } } } }
      """
    let hub = Hub(
      board: try Board(json5: Array(text.utf8), file: "test"), hardware: hardware, clock: hardware.clock)
    func sleeps() -> Int { receiver.requests.values.count { $0.starts(with: Array("$PCAS12".utf8)) } }
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    await receiver.requests.values { $0.contains { $0.first == 0xBA } }
    lease.cancel()
    await hub.isOff()
    #expect(sleeps() == 1)
    let rail = try #require(hub.receiver).device.rail
    _ = try rail.require(for: "other", after: .zero, Poller(stop: -1))
    hardware.clock.advance(by: .seconds(65_535))
    #expect(sleeps() == 1)
    receiver.switchOn()
    hardware.clock.advance(by: .seconds(660))
    #expect(receiver.requests.waits { _ in sleeps() == 2 })
    #expect(hub.waits { hub.devices.first?.power == .asleep }, "\(hub.devices)")
    #expect(hardware.levels.values == [true] && receiver.isAsleep)
    rail.release(for: "other")
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }
}
