import HardwareIO
import MonotonicTime
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// The repeated log lines about devices that do not work.
@Suite(.timeLimit(.minutes(10)))
struct ConditionLogTests {
  /// Records the written lines.
  private final class Notebook: LogDestination {
    let entries = Recorder<LogEntry>()
    func write(_ entry: LogEntry) { entries.append(entry) }
  }

  private let notebook = Notebook()
  private let clock = ManualClock()

  private func entry(
    _ kind: DeviceCondition.Kind, _ severity: DeviceCondition.Severity, _ summary: String, isWanted: Bool = true
  ) -> ConditionFeed.Entry {
    .init(
      device: "gps",
      condition: DeviceCondition(
        kind, severity, summary, nextStep: "look", since: MonotonicInstant(nanoseconds: 1_000_000_000)),
      isWanted: isWanted)
  }

  /// The lines written during a condition, with a look every two seconds.
  private func lines(of entries: [ConditionFeed.Entry], seconds: Int) -> [String] {
    let sink = JournalSink(to: notebook)
    let log = ConditionLog(sink: sink, clock: clock)
    for _ in 0..<(seconds / 2) {
      log.receive(entries)
      clock.advance(by: .seconds(2))
    }
    #expect(sink.flush(within: .seconds(90)))
    return notebook.entries.values.map { "\($0.priority.rawValue) \($0.message)" }
  }

  @Test func `a condition that needs a person is reported at once, and then once a minute`() {
    let lines = lines(of: [entry(.acquiring, .warning, "nothing received")], seconds: 180)
    #expect(
      lines == [
        "4 gps: acquiring for 0.0 s: nothing received; look", "4 gps: acquiring for 1 min 00 s: nothing received; look",
        "4 gps: acquiring for 2 min 00 s: nothing received; look",
      ], "\(lines)")
  }

  @Test func `a failure, which is logged when it begins, is repeated after a minute`() {
    let lines = lines(of: [entry(.failed, .problem, "x")], seconds: 100)
    #expect(lines == ["4 gps: failed for 1 min 00 s: x; look"], "\(lines)")
  }

  @Test func `a slow start is a notice after some seconds, and a warning a minute later`() {
    let lines = lines(of: [entry(.acquiring, .waiting, "1 satellite in view")], seconds: 100)
    #expect(
      lines == [
        "5 gps: acquiring for 8.0 s: 1 satellite in view; look",
        "4 gps: acquiring for 1 min 08 s: 1 satellite in view; look",
      ], "\(lines)")
  }

  @Test func `a quick start is not logged`() {
    #expect(lines(of: [entry(.acquiring, .waiting, "x")], seconds: 8).isEmpty)
  }

  @Test func `a failure that affects no client is not repeated, and neither is a warning`() {
    let entries = [entry(.failed, .problem, "x", isWanted: false), entry(.warning, .warning, "y")]
    #expect(lines(of: entries, seconds: 300).isEmpty)
  }

  @Test func `a condition that comes and goes is logged at most once a minute`() {
    let sink = JournalSink(to: notebook)
    let log = ConditionLog(sink: sink, clock: clock)
    for _ in 0..<60 {
      log.receive([entry(.acquiring, .warning, "x")])
      clock.advance(by: .seconds(1))
      log.receive([])
      clock.advance(by: .seconds(1))
    }
    #expect(sink.flush(within: .seconds(90)))
    #expect(notebook.entries.values.count == 2, "\(notebook.entries.values.map(\.message))")
  }

  @Test func `a quick start is not logged after a slow one an hour before`() {
    let sink = JournalSink(to: notebook)
    let log = ConditionLog(sink: sink, clock: clock)
    for start in [10, 3600] {
      clock.advance(by: MonotonicInstant(nanoseconds: Int64(start) * 1_000_000_000) - clock.now)
      var entry = entry(.acquiring, .waiting, "x")
      entry.condition.since = clock.now
      for _ in 0..<(start == 10 ? 5 : 3) {
        log.receive([entry])
        clock.advance(by: .seconds(2))
      }
      log.receive([])
    }
    #expect(sink.flush(within: .seconds(90)))
    let lines = notebook.entries.values.map { "\($0.priority.rawValue) \($0.message)" }
    #expect(lines == ["5 gps: acquiring for 8.0 s: x; look"], "\(lines)")
  }

  @Test func `fence events are logged at the level of their severity`() {
    let priorities = [FenceStatus.Event.lost, .leave, .enter, .found].map { FenceOutput.priority(of: $0).rawValue }
    #expect(priorities == [3, 4, 5, 5])
  }

  @Test func `a supply that stays on is logged as an error`() {
    let sink = JournalSink(to: notebook)
    let log = DeviceLog(sink: sink, clock: clock)
    var status = DeviceStatus(
      id: "gps", kind: .receiver, title: "GPS", power: .asleep, since: clock.now, reason: "x", holders: [],
      onTime: .zero, wakes: 1, energyMilliwattHours: 0, timeToFirstFix: nil, counters: [])
    log.receive(status)
    status.warning = "its supply could not be switched off: x"
    status.isSupplyStuck = true
    log.receive(status)
    #expect(sink.flush(within: .seconds(90)))
    #expect(notebook.entries.values.map(\.priority) == [.error])
  }

  @Test func `an installed hub's hints do not lead to a simulated hub`() {
    let tree = MachineTree()
    let none = InstalledService(on: tree.files)
    #expect(none.refusalOfSimulation == nil && none.start.hasPrefix("start one: sensorhub run --board FILE"))
    tree.add("/usr/lib/systemd/system/sensorhub.service")
    let unit = InstalledService(on: tree.files)
    #expect(unit.refusalOfSimulation?.nextStep.hasPrefix("sudo systemctl start sensorhub") == true)
    tree.add("/etc/sensorhub/board.json5", "{}")
    let installed = InstalledService(on: tree.files)
    #expect(installed.trace == "/etc/sensorhub/board.json5")
    #expect(installed.start.hasPrefix("sudo systemctl start sensorhub") && !installed.start.contains("sensorhub run"))
  }

  @Test func `each missing port has its own next step`() {
    func step(_ path: String) -> String? {
      HardwareError.notFound("serial port \(path)", .init(port: path)).nextStep
    }
    #expect(step("/dev/ttyUSB0")?.hasPrefix("plug the receiver in") == true)
    #expect(step("/dev/ttyUSB0")?.contains("raspi-config") == false)
    #expect(step("/dev/ttyAMA0")?.hasPrefix("enable the port") == true)
    #expect(HardwareError.notFound("x", .gpio).nextStep?.contains("gpioinfo") == true)
    #expect(HardwareError.notFound("x").nextStep == "check the board file's name for it")
  }
}
