import Guarding
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// How a board with an empty battery shuts down.
@Suite(.timeLimit(.minutes(10)))
struct BatteryOutputTests {
  /// Records the requests, and refuses the first ones.
  private final class Switch: BoardShutdown {
    let requests = Recorder<Bool>()
    private let refusals: Guarded<[ShutdownRefusal]>

    init(refusals: [ShutdownRefusal] = []) { self.refusals = Guarded(refusals) }

    func powerOff(isReal: Bool) -> ShutdownRefusal? {
      let refusal = refusals.withLock { $0.isEmpty ? nil : $0.removeFirst() }
      requests.append(isReal)
      return refusal
    }
  }

  private final class Notebook: LogDestination {
    let entries = Recorder<LogEntry>()
    func write(_ entry: LogEntry) { entries.append(entry) }
  }

  private let hardware = SimulatedHardware()
  private let notebook = Notebook()

  private func host() throws -> HubHost {
    let text = """
      { name: 'x', devices: { gps: { driver: 'nmea', port: 'simulated/gps',
          power: { switch: 'gpio', chip: 'simulated', line: 'gps-power' } },
          meter: { driver: 'ina226', bus: 'simulated/i2c', rateHz: 29 } },
        battery: { monitor: 'meter', low: 3.27, critical: 3.22, hysteresis: 0.01, grace: 1, every: 5, afterStart: 0 } }
      """
    return HubHost(Hub(board: try Board(json5: Array(text.utf8), file: "test"), hardware: hardware), version: "test")
  }

  @Test func `hooks are told first, and once the machine shuts down all lines are low`() async throws {
    let host = try host()
    let machine = Switch()
    let sink = JournalSink(to: notebook)
    let output = BatteryOutput(host: host, sink: sink, shutdown: machine)
    let notices = Recorder<BoardShutdownNotice>()
    let hooks = host.shutdownNotices.subscribe(as: "hooks", receiveValue: { notices.append($0) })
    let client = host.hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(hardware.powerLines.waits(for: true, of: "gps-power"))
    let watch = output.begin()
    hardware.gpsSupply.load("drain", amperes: 0.7)
    #expect(notices.waits { $0.contains { $0.isBegin } })
    // The machine waits for the hooks.
    #expect(machine.requests.values.isEmpty)
    #expect(hardware.powerLines.level("gps-power"))
    try #require(notices.values.first { $0.isBegin }).told()
    #expect(machine.requests.waits { $0 == [false] })
    #expect(hardware.powerLines.waits(for: false, of: "gps-power"))
    await host.hub.isOff()
    client.cancel()
    watch.cancel()
    hooks.cancel()
    #expect(notebook.entries.waits { $0.contains { $0.message.hasSuffix("switched off") } })
    let lines = notebook.entries.values.map { "\($0.priority.rawValue) \($0.message)" }
    #expect(lines.first?.hasPrefix("3 meter: the battery is empty, 3.") == true, "\(lines)")
    #expect(lines.last == "3 meter: the board is shutting down; all power lines are switched off", "\(lines)")
  }

  @Test func `a refusal keeps the hub running, and says why`() async throws {
    let host = try host()
    let machine = Switch(refusals: [ShutdownRefusal(reason: "apt forbids it: an update", nextStep: "wait")])
    let output = BatteryOutput(host: host, sink: JournalSink(to: notebook), shutdown: machine)
    hardware.gpsSupply.load("drain", amperes: 0.7)
    let watch = output.begin()
    #expect(machine.requests.waits { !$0.isEmpty })
    let meter = try #require(host.hub.monitors.first { $0.id == "meter" })
    let warning = "the board stays on: apt forbids it: an update; wait"
    #expect(meter.changes.waits { $0.warning?.hasSuffix(warning) == true })
    let client = host.hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(hardware.powerLines.waits(for: true, of: "gps-power"))
    #expect(machine.requests.values.count == 1)
    client.cancel()
    watch.cancel()
    host.shutDown()
    await host.hub.isOff()
  }
}
