import Guarding
import HardwareIO
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// A device's reports about holders that come and leave.
@Suite(.timeLimit(.minutes(10)))
struct HoldersOfReceiversTests {
  private func receiver(_ id: String, _ terminal: PseudoTerminal) -> String {
    "\(id): { driver: 'nmea', port: '\(terminal.path)', speed: 9600, power: { lingerSeconds: 60 } }"
  }

  @Test func `a client that leaves while a scheduled fix wakes the receivers is reported as a client that left`()
    async throws
  {
    let clock = ManualClock()
    let terminals = [PseudoTerminal(), PseudoTerminal()]
    // Keep the pseudo-terminals open, so that the receivers stay connected to the end.
    defer { withExtendedLifetime(terminals) {} }
    let text = "{ name: 'x', devices: { \(receiver("one", terminals[0])), \(receiver("two", terminals[1])) } }"
    let hub = Hub(
      board: try Board(json5: Array(text.utf8), file: "x"), hardware: LinuxHardware(), clock: clock)
    let client = hub.powerLease(of: "two").subscribe(as: "watch[1]", receiveValue: { _ in })
    #expect(hub.monitors[1].changes.waits { $0.power == .acquiring })
    let changes = Recorder<DeviceStatus>()
    let watching = Lifetime()
    hub.monitors[1].changes.subscribe(as: "test", receiveValue: { changes.append($0) }).store(in: watching)
    // The first receiver is woken for the fix. The client leaves before the second one is woken.
    let isOver = MutableProperty(false)
    hub.receivers.candidates[0].reader.device.source.activity.subscribe(
      as: "test",
      receiveValue: { activity in
        guard activity.phase == .starting, !isOver.value else { return }
        #expect(
          DetachedThread.start("client") {
            client.cancel()
            isOver.value = true
          } == 0)
        #expect(isOver.readOnly.waits { $0 })
      }
    ).store(in: watching)
    let schedule = Schedule(every: .seconds(3600), accuracyMetres: 10, within: .seconds(60))
    let log = hub.fixes(on: schedule).subscribe(as: "log", receiveValue: { _ in })
    #expect(isOver.value)
    #expect(changes.values.contains { $0.power == .lingering && $0.reason == "watch[1] left" }, "\(changes.values)")
    #expect(hub.waits { hub.devices.allSatisfy { $0.holders == ["log (position)"] && $0.power == .acquiring } })
    #expect(hub.devices[1].wakes == 1, "\(hub.devices[1])")
    watching.end()
    log.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a device names its holders, direct and indirect, and the clients that came and left last`()
    async throws
  {
    let clock = ManualClock()
    let terminal = PseudoTerminal()
    // Keep the pseudo-terminal open, so that the receiver stays connected to the end.
    defer { withExtendedLifetime(terminal) {} }
    let text = "{ name: 'x', devices: { \(receiver("one", terminal)) } }"
    let hub = Hub(
      board: try Board(json5: Array(text.utf8), file: "x"), hardware: LinuxHardware(), clock: clock)
    // A name that resembles a message of the hub must not change the meaning of an event.
    let odd: Holder = "one who has left"
    let changes = Recorder<DeviceStatus>()
    let watching = hub.monitors[0].changes.subscribe(as: "test", receiveValue: { changes.append($0) })
    let first = hub.clockOffsets.map { $0.offsetSeconds }.subscribe(as: odd, receiveValue: { _ in })
    #expect(hub.devices[0].holders == ["one who has left"])
    // This report comes with the subscription, before that of the reader's thread.
    #expect(changes.values.contains { $0.reason == "one who has left subscribed" }, "\(changes.values)")
    #expect(hub.monitors[0].changes.waits { $0.power == .acquiring })
    let second = hub.state(rateHz: 2, parts: [.position]).subscribe(as: "map", receiveValue: { _ in })
    let third = hub.sentences.throttled(to: .seconds(1), clock: clock).subscribe(as: "log", receiveValue: { _ in })
    #expect(hub.devices[0].holders == ["one who has left", "map (position)", "log"])
    first.cancel()
    third.cancel()
    #expect(hub.devices[0].holders == ["map (position)"])
    second.cancel()
    #expect(hub.devices[0].power == .lingering && hub.devices[0].holders.isEmpty)
    #expect(hub.devices[0].reason == "map (position) left")
    watching.cancel()
    hub.shutDown()
    await hub.isOff()
  }
}
