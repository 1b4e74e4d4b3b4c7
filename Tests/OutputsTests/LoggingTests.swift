import CLinux
import Glibc
import Guarding
import HardwareIO
import MonotonicTime
import TestSupport
import Testing

@testable import Hub
@testable import Outputs

/// The log, for its writers and its readers.
@Suite(.timeLimit(.minutes(10))) struct LoggingTests {
  /// A pipe of 4 KiB. Its end for the log blocks like a terminal.
  private final class Pipe {
    /// The constant `F_SETPIPE_SZ`, which Swift's overlay does not have.
    private static let setSize: Int32 = 1031

    let writing: Int32
    private let reading: Int32

    init() {
      var ends: [Int32] = [0, 0]
      precondition(pipe(&ends) == 0)
      (reading, writing) = (ends[0], ends[1])
      _ = fcntl(writing, Pipe.setSize, 4096)
      _ = fcntl(reading, F_SETFL, O_NONBLOCK)
    }

    deinit {
      // A waiting writer finds no reader any more. The writing end stays open, because its thread may still use the
      // descriptor.
      close(reading)
    }

    /// Waits for bytes, and returns the pipe's present contents; `nil` after the time limit of a test.
    func read() -> String? {
      guard Poller(stop: -1).wait(for: reading, atMost: .seconds(180)) == .readable else { return nil }
      var bytes: [UInt8] = []
      var chunk = [UInt8](repeating: 0, count: 65536)
      while case let count = Glibc.read(reading, &chunk, chunk.count), count > 0 { bytes += chunk[..<count] }
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  /// Records the written lines.
  private final class Notebook: LogDestination {
    let entries = Recorder<LogEntry>()
    func write(_ entry: LogEntry) { entries.append(entry) }
  }

  private func message(_ number: Int) -> String { "line \(number) \(String(repeating: ".", count: 80))" }

  @Test func `no writer waits for a stopped reader, and lost lines are reported once it continues`() throws {
    let pipe = Pipe()
    let sink = JournalSink(to: LogLines(descriptor: pipe.writing))
    // Many times the capacity of the pipe and the queue: a write that waited would never return.
    for number in 0..<10_000 { sink.write(.info, message(number)) }
    sink.write(.warning, "gps: failed")
    #expect(!sink.flush(within: .milliseconds(1)))
    var text = ""
    while !text.contains("warning: gps: failed\n") { text += try #require(pipe.read()) }
    let lines = text.split(separator: "\n")
    let written = lines.filter { $0.contains(" line ") }.compactMap { Int($0.split(separator: " ")[2]) }
    let lost = lines.compactMap { line in
      line.contains("are missing here") ? Int(line.split(separator: " ")[2]) : nil
    }
    // The order is kept, the newest lines are present, and the count is correct.
    #expect(written == written.sorted())
    #expect(written.last == 9999)
    #expect(written.count + lost.reduce(0, +) == 10_000, "\(written.count) written, \(lost) lost")
    #expect(sink.flush(within: .seconds(90)))
  }

  @Test func `lines about faults are dropped last, and a flood of other lines does not displace them`() {
    var queue = LogQueue()
    queue.append(LogEntry(.warning, "gps: failed"))
    for number in 0..<5000 { queue.append(LogEntry(.notice, message(number))) }
    let taken = queue.take() ?? []
    #expect(taken.count <= LogQueue.lineLimit + 1)
    #expect(
      taken.first?.message == "\(5001 - (taken.count - 1)) lines are missing here: the reader of the log was too slow")
    #expect(taken.dropFirst().first?.message == "gps: failed")
    #expect(taken.last?.message == message(4999))
    #expect(queue.isEmpty)
    for _ in 0..<100 { queue.append(LogEntry(.info, String(repeating: "x", count: LogQueue.byteLimit / 2))) }
    #expect((queue.take() ?? []).count == 2)
  }

  @Test func `a flush returns once everything is written`() async {
    let notebook = Notebook()
    let sink = JournalSink(to: notebook)
    for number in 0..<100 { sink.write(.info, message(number)) }
    #expect(sink.flush(within: .seconds(90)))
    #expect(notebook.entries.values.map(\.message) == (0..<100).map(message))
  }

  @Test func `a text with a line break cannot look like another log line`() throws {
    let pipe = Pipe()
    let sink = JournalSink(to: LogLines(descriptor: pipe.writing))
    sink.write(.notice, "board 'x\n12:00:00 error: gps: failed\u{1b}[2J' read again")
    #expect(sink.flush(within: .seconds(90)))
    let lines = try #require(pipe.read()).split(separator: "\n")
    #expect(lines.count == 2)
    #expect(lines.last == "  12:00:00 error: gps: failed\\u{1b}[2J' read again")
  }

  // MARK: Devices

  private func status(
    _ power: DeviceStatus.Power, _ reason: String, since: Double = 0, wakes: Int = 1, timeToFirstFix: Duration? = nil
  ) -> DeviceStatus {
    DeviceStatus(
      id: "gps", kind: .receiver, title: "GPS", power: power,
      since: MonotonicInstant(nanoseconds: Int64(since * 1e9)), reason: reason, holders: [], onTime: .zero,
      wakes: wakes, energyMilliwattHours: 0, timeToFirstFix: timeToFirstFix, counters: [])
  }

  @Test func `after a loss of the fix, the time to the next fix counts from the loss`() {
    let (notebook, clock) = (Notebook(), ManualClock())
    let sink = JournalSink(to: notebook)
    let log = DeviceLog(sink: sink, clock: clock)
    log.receive(status(.acquiring, "no fix yet"))
    let first = Duration.milliseconds(960)
    log.receive(status(.tracking, "it measures", since: 0.96, timeToFirstFix: first))
    // The receiver is in a tunnel.
    log.receive(status(.acquiring, "it has lost its fix", since: 40, timeToFirstFix: first))
    log.receive(status(.tracking, "it measures", since: 71, timeToFirstFix: first))
    log.receive(status(.off, "watch left", since: 80, timeToFirstFix: first))
    // The next start has its own time.
    log.receive(status(.acquiring, "no fix yet", since: 90, wakes: 2, timeToFirstFix: first))
    log.receive(status(.tracking, "it measures", since: 92, wakes: 2, timeToFirstFix: .seconds(2)))
    #expect(sink.flush(within: .seconds(90)))
    let tracking = notebook.entries.values.map(\.message).filter { $0.contains("tracking") }
    #expect(
      tracking == ["gps: tracking after 0.96 s", "gps: tracking again after 31.0 s", "gps: tracking after 2.00 s"])
  }

  @Test func `a device that is needed again before it is off names its new client`() {
    let (notebook, clock) = (Notebook(), ManualClock())
    let sink = JournalSink(to: notebook)
    let log = DeviceLog(sink: sink, clock: clock)
    log.receive(status(.tracking, "it measures"))
    log.receive(status(.lingering, "watch[1] left"))
    var wanted = status(.tracking, "it measures")
    wanted.holders = ["web 127.0.0.1:40022", "journal"]
    log.receive(wanted)
    #expect(sink.flush(within: .seconds(90)))
    #expect(
      notebook.entries.values.map(\.message) == [
        "gps: lingering (watch[1] left)", "gps: still tracking (for web 127.0.0.1:40022, journal)",
      ])
  }

  @Test func `lines about warnings and stuck supplies have the events of these conditions`() {
    let (notebook, clock) = (Notebook(), ManualClock())
    let sink = JournalSink(to: notebook)
    let log = DeviceLog(sink: sink, clock: clock)
    log.receive(status(.tracking, "it measures"))
    var warned = status(.tracking, "it measures")
    warned.warning = "it reports jamming"
    log.receive(warned)
    log.receive(status(.tracking, "it measures"))
    var stuck = status(.asleep, "watch[1] left")
    stuck.warning = "its supply could not be switched off"
    stuck.isSupplyStuck = true
    log.receive(stuck)
    log.receive(status(.off, "watch[1] left"))
    log.receive(status(.settling, "watch[2] subscribed"))
    #expect(sink.flush(within: .seconds(90)))
    let events = notebook.entries.values.compactMap { entry in
      entry.fields.first { $0.name == "SENSORHUB_EVENT" }?.value
    }
    #expect(events == ["remark", "remark", "supply", "supply", "settling"])
  }

  // MARK: Repeated lines

  @Test func `endless transitions are summarised, and a fault is always logged`() async {
    let (notebook, clock) = (Notebook(), ManualClock())
    let sink = JournalSink(to: notebook)
    let log = DeviceLog(sink: sink, clock: clock)
    log.receive(status(.off, "no subscriber yet"))
    for _ in 0..<50 {
      log.receive(status(.lingering, "gpsd 1 left"))
      log.receive(status(.settling, "gpsd 1 subscribed"))
    }
    log.receive(status(.failed, "it hangs"))
    _ = sink.flush(within: .seconds(90))
    #expect(notebook.entries.values.count == DeviceLog.lineLimit + 1)
    #expect(notebook.entries.values.last?.message.hasPrefix("gps: failed: it hangs") == true)
    log.receive(status(.tracking, ""))
    log.receive(status(.off, "no subscriber came back"))
    clock.advance(by: DeviceLog.window)
    _ = sink.flush(within: .seconds(90))
    // There were 100 lines, of which 12 were written, and two more since.
    #expect(
      notebook.entries.values.last?.message == "gps: 90 more changes within 10 s, now off (no subscriber came back)")
    // From here on everything is as before.
    log.receive(status(.settling, "gpsd 1 subscribed"))
    _ = sink.flush(within: .seconds(90))
    #expect(notebook.entries.values.last?.message == "gps: settling (gpsd 1 subscribed)")
    clock.advance(by: DeviceLog.window)
    clock.advance(by: DeviceLog.window)
    _ = sink.flush(within: .seconds(90))
    #expect(notebook.entries.values.count == DeviceLog.lineLimit + 3)
  }

  @Test func `interference that changes each second is summarised, with its current state`() {
    let (notebook, clock) = (Notebook(), ManualClock())
    let sink = JournalSink(to: notebook)
    let log = DeviceLog(sink: sink, clock: clock)
    log.receive(status(.tracking, "it measures"))
    for second in 0..<59 {
      var now = status(.tracking, "it measures")
      if second % 2 == 0 { now.warning = "it reports jamming, and still has a fix" }
      log.receive(now)
      clock.advance(by: .seconds(1))
    }
    clock.advance(by: .seconds(1))
    _ = sink.flush(within: .seconds(90))
    #expect(notebook.entries.values.count == DeviceLog.warningLimit + 1)
    #expect(
      notebook.entries.values.last?.message
        == "gps: 53 more warnings within 60 s, now it reports jamming, and still has a fix")
    // From here on everything is as before.
    log.receive(status(.tracking, "it measures"))
    _ = sink.flush(within: .seconds(90))
    #expect(notebook.entries.values.last?.message == "gps: resolved: it reports jamming, and still has a fix")
  }

  @Test func `an occasional visit is logged in full`() {
    let (notebook, clock) = (Notebook(), ManualClock())
    let sink = JournalSink(to: notebook)
    let log = DeviceLog(sink: sink, clock: clock)
    log.receive(status(.off, "no subscriber yet"))
    for _ in 0..<20 {
      for power in [DeviceStatus.Power.settling, .acquiring, .tracking, .lingering, .off] {
        log.receive(status(power, "a client"))
        clock.advance(by: .seconds(1))
      }
    }
    _ = sink.flush(within: .seconds(90))
    #expect(notebook.entries.values.count == 100)
    #expect(!notebook.entries.values.contains { $0.message.contains("more changes within") })
  }
}
