import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// When a sleeping receiver keeps its supply, and when it loses it.
extension ReceiverSleepTests {
  @Test func `a sleeping receiver keeps its supply and releases its tty, until the hub ends`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true] && receiver.isAsleep)
    #expect(hardware.ports.values == ["open", "closed"])
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    let status = try #require(hub.devices.first)
    // The power follows from the usual current of the sleep mode.
    #expect(status.warning == nil && status.milliwatts < 1)
    try await wake(hub, receiver, settings: 2)
    #expect(hardware.levels.values == [true] && receiver.isAsleep)
    // A hub that ends checks the line after all clients have been disconnected, and does not wait for it. Its own
    // thread drives the line, because a line may hang.
    hub.shutDown()
    #expect(hardware.levels.waits { $0 == [true, false] })
    await hub.isOff()
    #expect(hardware.levels.values == [true, false])
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    receiver.end()
  }

  @Test func `a sleeping receiver loses its supply before it would wake by itself`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hub.monitors[0].changes.waits { $0.power == .asleep })
    hardware.clock.advance(by: .seconds(11 * 86_400))
    #expect(hardware.levels.values == [true] && hub.devices.first?.power == .asleep)
    // Backup ends after twelve days.
    hardware.clock.advance(by: .seconds(86_400 - 3600))
    #expect(hardware.levels.waits { $0 == [true, false] }, "\(hardware.levels.values)")
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `a receiver that is awake when the hub ends loses its supply instead of being put to sleep`() async throws
  {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    await receiver.requests.values { $0.contains { Self.kind($0) == 0x0608 && $0.count == 14 } }
    hub.shutDown()
    #expect(hardware.levels.waits { $0 == [true, false] }, "\(hardware.levels.values)")
    await hub.isOff()
    #expect(hardware.levels.values == [true, false])
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    lease.cancel()
    receiver.end()
  }

  @Test func `a receiver that does not fall asleep loses its supply, and this is reported`() async throws {
    let receiver = Self.receiver { Self.kind($0) == 0x0241 ? .silence : Self.answer($0) }
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true, false])
    #expect(hub.monitors[0].changes.waits { $0.power == .off })
    #expect(hub.devices.first?.warning?.contains("keeps sending") == true)
    receiver.end()
  }

  @Test func `a receiver that does not wake is switched off and on`() async throws {
    let receiver = Self.receiver(wakes: false)
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line + #"sleep: "backup","#)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true])
    try await wake(hub, receiver, settings: 2)
    #expect(hardware.levels.values == [true, false, true])
    hub.shutDown()
    await hub.isOff()
    #expect(hardware.levels.values == [true, false, true, false])
    receiver.end()
  }

  @Test func `a receiver that only its supply can wake is switched at once, and gets no useless command`() async throws
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
    let powers = Recorder<DeviceStatus.Power>()
    let lifetime = Lifetime()
    hub.receiver?.monitor.changes.subscribe(as: "test", receiveValue: { powers.append($0.power) }).store(in: lifetime)
    for visit in 1...3 {
      let lease = hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
      await receiver.requests.values { $0.count { $0.first == 0xBA } >= visit }
      lease.cancel()
      await hub.isOff()
      #expect(receiver.isAsleep)
      let laterVisits: [Bool] = (1..<visit).flatMap { _ in [false, true] }
      #expect(hardware.levels.values == [true] + laterVisits)
      #expect(hardware.ports.values.count == 2 * visit)
    }
    #expect(!powers.values.contains(.failed))
    lifetime.end()
    hub.shutDown()
    await hub.isOff()
    receiver.end()
  }

  @Test func `without a sleep mode, the supply is switched off`() async throws {
    let receiver = Self.receiver()
    let hardware = WiredHardware(receiver)
    let hub = try hub(hardware, power: line)
    try await wake(hub, receiver, settings: 1)
    #expect(hardware.levels.values == [true, false])
    #expect(!receiver.requests.values.contains { Self.kind($0) == 0x0241 })
    receiver.end()
  }
}
