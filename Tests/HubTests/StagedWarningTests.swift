import HardwareIO
import Publishing
import TestSupport
import Testing

@testable import Hub

/// Warnings that are decided under a lock of their owner, and delivered after it.
struct StagedWarningTests {
  private func monitor() throws -> (Hub, DeviceMonitor) {
    let text = "{ name: 'x', devices: { gps: { driver: 'nmea', port: '/dev/none' } } }"
    let hub = Hub(board: try Board(json5: Array(text.utf8), file: "x"), hardware: LinuxHardware())
    return (hub, try #require(hub.monitors.first))
  }

  @Test func `a staged warning counts at once, and its late delivery does not bring it back`() async throws {
    let (hub, monitor) = try monitor()
    let warnings = Recorder<String?>()
    let watching = monitor.changes.subscribe(as: "test", receiveValue: { warnings.append($0.warning) })
    let mustDeliver = monitor.stageWarning(about: .finding, "the current flows away from the load")
    #expect(monitor.status.warning == "the current flows away from the load")
    // The owner has ended in the meantime, and removes the warning.
    monitor.setWarning(about: .finding, nil)
    if mustDeliver { monitor.deliver() }
    #expect(warnings.values == [nil, "the current flows away from the load", nil])
    #expect(monitor.status.warning == nil)
    watching.cancel()
    hub.shutDown()
    await hub.isOff()
  }

  @Test func `a low battery is a warning and an alarm once it is staged`() async throws {
    let (hub, monitor) = try monitor()
    if monitor.stageBattery(isLow: "the battery is low", isDecided: true) { monitor.deliver() }
    #expect(monitor.status.warning == "the battery is low" && monitor.alarms.reported[.supply] == "the battery is low")
    if monitor.stageBattery(isLow: nil, isDecided: true) { monitor.deliver() }
    #expect(monitor.status.warning == nil && monitor.alarms.reported[.supply] == nil)
    hub.shutDown()
    await hub.isOff()
  }
}
