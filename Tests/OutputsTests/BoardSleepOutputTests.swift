import Guarding
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// How a board sleeps and wakes, with a clock that the test moves, a real-time clock and a logind of its own.
@Suite(.timeLimit(.minutes(10)))
struct BoardSleepOutputTests {
  private let folder = TemporaryFolder("sleep")

  @Test func `between two fixes the board is suspended, and is awake in time for the next one`() async throws {
    let bench = try BoardSleepBench(folder: folder)
    bench.begin()
    #expect(bench.logind.requests.values.isEmpty)
    // The first fix takes 20 s, and the idle time is 30 s.
    bench.pass(20)
    #expect(bench.fixes.values.count == 1)
    bench.pass(29)
    #expect(bench.logind.requests.values.isEmpty)
    for cycle in 1...3 {
      bench.pass(2)
      #expect(bench.logind.requests.waits { $0.count == cycle })
      #expect(bench.saves.values.count == cycle)
      let due = try #require(bench.host.hub.boardSituation.next?.due)
      let wake = try #require(bench.host.hub.boardSituation.next?.wake)
      let alarm = try #require(bench.rtc.set.value)
      // The alarm is early enough for the board and for the receiver.
      let untilAlarm = (alarm - 3600) * 1_000_000_000 - bench.system()
      let untilWake = wake - bench.clock.now
      let before = untilWake - .nanoseconds(untilAlarm)
      #expect(before >= .seconds(2) && before < .seconds(12), "\(before)")
      #expect(bench.file.content?.sleep?.holder == "request log")
      try bench.sleep()
      #expect(FileChanges.wait(in: folder.path) { bench.file.content?.sleep == nil })
      let left = try #require(bench.host.hub.boardSituation.next).due - bench.clock.now
      #expect(left > .zero && left < .seconds(60), "\(left), due \(due)")
      bench.pass(left.inSeconds + 25)
      #expect(bench.fixes.values.count == cycle + 1)
      bench.pass(20)
    }
    let report = try #require(bench.host.boardSleep.value)
    #expect(report.sleepCount == 3 && report.asleepSeconds > 3 * 400, "\(report)")
    #expect(bench.notebook.has("the board is suspended for 8 min"), "\(bench.notebook.lines)")
    #expect(bench.notebook.has("the board is awake: its alarm for request log came"), "\(bench.notebook.lines)")
    await bench.end()
  }

  @Test func `a client keeps the board awake`() async throws {
    let bench = try BoardSleepBench(folder: folder)
    bench.begin()
    bench.pass(40)
    let client = bench.host.hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(bench.hardware.powerLines.waits(for: true, of: "gps-power"))
    bench.pass(60)
    #expect(bench.logind.requests.values.isEmpty)
    #expect(bench.host.boardSleep.value?.reason.contains("holds gps") == true)
    client.cancel()
    #expect(bench.hardware.powerLines.waits(for: false, of: "gps-power"))
    #expect(
      eventually {
        bench.pass(1)
        return bench.logind.requests.values.count == 1
      })
    await bench.end()
  }

  @Test func `a client keeps the board awake also while its device is missing`() async throws {
    let bench = try BoardSleepBench(folder: folder, port: "simulated/none")
    bench.begin()
    let client = bench.host.hub.powerLease(of: "gps").subscribe(as: "test", receiveValue: { _ in })
    #expect(bench.host.hub.waits { bench.host.hub.devices.first?.power == .failed })
    // The hub tries the device again after growing pauses of up to a minute.
    bench.pass(200)
    #expect(bench.logind.requests.values.isEmpty)
    #expect(bench.host.boardSleep.value?.reason.contains("holds gps") == true)
    client.cancel()
    #expect(
      eventually {
        bench.pass(1)
        return bench.logind.requests.values.count == 1
      })
    await bench.end()
  }

  @Test func `a connected client keeps the board awake if the board file names its output`() async throws {
    let bench = try BoardSleepBench(BoardSleepBench.keys + ", keep: ['gpsd']", folder: folder)
    bench.host.traffic.gpsd.clientCame()
    bench.begin()
    bench.pass(100)
    #expect(bench.logind.requests.values.isEmpty)
    #expect(bench.host.boardSleep.value?.reason == "1 client of gpsd")
    bench.host.traffic.gpsd.clientLeft()
    bench.pass(31)
    #expect(bench.logind.requests.waits { $0.count == 1 })
    await bench.end()
  }

  @Test func `a suspension needs no confirmed time, because its alarm is relative`() async throws {
    let bench = try BoardSleepBench(folder: folder)
    bench.surroundings.isConfirmed.withLock { $0 = false }
    bench.begin()
    bench.pass(51)
    #expect(bench.logind.requests.waits { $0 == [.suspend] })
    await bench.end()
  }

  @Test func `a receiver is on for a while to confirm the time, which the one epoch of a fix does not do`() async throws
  {
    let bench = try BoardSleepBench("board: 'poweroff', idle: 30, afterStart: 0", folder: folder)
    bench.surroundings.isConfirmed.withLock { $0 = false }
    bench.begin()
    bench.pass(50)
    // The receiver of the first fix is switched off on a thread of its own.
    #expect(
      eventually {
        bench.pass(1)
        let reason = "its clock is not confirmed, so its alarm might never come: a receiver is on now"
        return bench.notebook.lines.contains { $0.contains(reason) }
      })
    #expect(bench.hardware.powerLines.waits(for: true, of: "gps-power"))
    let hub = bench.host.hub
    #expect(hub.waits { hub.devices.first?.holders.contains { $0.hasPrefix("board sleep") } == true })
    bench.pass(121)
    #expect(hub.waits { hub.devices.first?.holders.isEmpty == true })
    bench.surroundings.isConfirmed.withLock { $0 = true }
    #expect(
      eventually {
        bench.pass(1)
        return bench.logind.requests.values == [.poweroff]
      })
    await bench.end()
  }

  @Test func `a board that something else than the alarm wakes stays awake for a while`() async throws {
    let bench = try BoardSleepBench("board: 'suspend', idle: 30, afterStart: 120", folder: folder)
    bench.begin()
    bench.pass(121)
    #expect(bench.logind.requests.waits { $0.count == 1 })
    bench.sleep(for: 100)
    #expect(bench.notebook.has("something else woke it"))
    #expect(bench.rtc.set.readOnly.waits { $0 == nil })
    bench.pass(110)
    #expect(bench.logind.requests.values.count == 1)
    bench.pass(12)
    #expect(bench.logind.requests.waits { $0.count == 2 })
    await bench.end()
  }

  @Test func `a board file that comes while the board is about to be suspended applies after the sleep`() async throws {
    let bench = try BoardSleepBench(folder: folder)
    bench.begin()
    bench.pass(51)
    #expect(bench.logind.requests.waits { $0.count == 1 })
    await bench.host.hub.apply(try BoardSleepBench.board("board: 'suspend', idle: 3600, afterStart: 0"))
    #expect(bench.rtc.set.value != nil && bench.file.content?.sleep != nil)
    try bench.sleep()
    #expect(bench.notebook.has("the board is awake: its alarm for request log came"))
    #expect(FileChanges.wait(in: folder.path) { bench.file.content?.sleep == nil })
    let left = try #require(bench.host.hub.boardSituation.next).due - bench.clock.now
    bench.pass(left.inSeconds + 100)
    #expect(bench.logind.requests.values.count == 1)
    await bench.end()
  }

  @Test func `the end of the hub does not put the board to sleep without an alarm`() async throws {
    let bench = try BoardSleepBench("board: 'suspend', idle: 30, afterStart: 0, withoutEnd: true", folder: folder)
    // The board is idle, and stays awake.
    bench.logind.loggedIn.withLock { $0 = "pi" }
    bench.begin()
    bench.pass(51)
    #expect(bench.notebook.has("pi is logged in"))
    bench.logind.loggedIn.withLock { $0 = nil }
    bench.host.shutDown()
    bench.pass(120)
    #expect(bench.logind.requests.values.isEmpty)
    await bench.end()
  }
}
