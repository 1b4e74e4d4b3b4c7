import Glibc
import Guarding
import HardwareIO
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
  /// Records the requests, and refuses the first ones.
  private final class Logind: BoardPower {
    let requests = Recorder<BoardSleepSettings.Way>()
    let refusals = Guarded<[ShutdownRefusal]>([])
    /// Counts each question as an event, once a refusal has been given.
    let questions = News()
    let loggedIn = Guarded<String?>(nil)
    let hidesUsers = Guarded(false)
    /// The answer to each request.
    let answer = Guarded<ShutdownRefusal?>(nil)

    func refusal(of way: BoardSleepSettings.Way) -> ShutdownRefusal? {
      defer { questions.came() }
      return refusals.withLock { $0.isEmpty ? nil : $0.removeFirst() }
    }

    func begin(_ way: BoardSleepSettings.Way) -> ShutdownRefusal? {
      requests.append(way)
      return answer.withLock { $0 }
    }

    func user() throws(ShutdownRefusal) -> String? {
      if hidesUsers.withLock({ $0 }) { throw LogindPower.unknownUsers(errno: EACCES) }
      return loggedIn.withLock { $0 }
    }
  }

  /// A real-time clock that is an hour ahead of the system clock.
  private final class FakeClock: WakeClock {
    /// The alarm; `nil` if it is off.
    let set = MutableProperty<Int64?>(nil)
    let isMissing = Guarded(false)
    let losesAlarm = Guarded(false)
    /// After this number of readings another program switches the alarm off.
    let readings = Guarded(Int.max)
    private let system: @Sendable () -> Int64

    init(_ system: @escaping @Sendable () -> Int64) { self.system = system }

    var problem: WakeClockError? {
      isMissing.withLock { $0 } ? WakeClockError("there is no /dev/rtc0") : nil
    }

    func now() throws(WakeClockError) -> Int64 { system() / 1_000_000_000 + 3600 }
    func alarm() throws(WakeClockError) -> Int64? {
      let isLost = readings.withLock { left in
        left -= 1
        return left < 0
      }
      return isLost || losesAlarm.withLock { $0 } ? nil : set.value
    }
    func setAlarm(_ instant: Int64?) throws(WakeClockError) { set.value = instant }
  }

  private final class Notebook: LogDestination {
    let entries = Recorder<LogEntry>()
    func write(_ entry: LogEntry) { entries.append(entry) }
    var lines: [String] { entries.values.map(\.message) }
    /// Waits for a line, because lines are written on another thread.
    func has(_ text: String) -> Bool { entries.waits { $0.contains { $0.message.contains(text) } } }
  }

  /// The values that a test sets.
  private final class Surroundings: Sendable {
    /// The time asleep, nanoseconds.
    let slept = Guarded<Int64>(0)
    let isConfirmed = Guarded(true)
    /// The simulated devices of most tests count as real ones.
    let isReal = Guarded(true)
  }

  private final class Bench {
    let clock: ManualClock
    let surroundings = Surroundings()
    let host: HubHost
    let logind = Logind()
    let rtc: FakeClock
    let notebook = Notebook()
    let hardware = SimulatedHardware()
    let saves = Recorder<Int>()
    let fixes = Recorder<MonotonicInstant>()
    let file: BoardSleepFile
    let output: BoardSleepOutput
    let system: @Sendable () -> Int64
    private var watch: Subscription?
    private var request: Subscription?

    static let keys = "board: 'suspend', idle: 30, afterStart: 0"

    init(_ keys: String = Bench.keys, folder: TemporaryFolder, from seconds: Int64 = 1201) throws {
      let clock = ManualClock(now: MonotonicInstant(nanoseconds: seconds * 1_000_000_000))
      self.clock = clock
      let surroundings = self.surroundings
      let system: @Sendable () -> Int64 = {
        1_795_478_400_000_000_000 + clock.now.nanoseconds + surroundings.slept.withLock { $0 }
      }
      self.system = system
      rtc = FakeClock(system)
      let machine = Machine(hardware: hardware, clock: clock, systemTime: system)
      host = HubHost(Hub(board: try Bench.board(keys), on: machine), version: "test")
      file = BoardSleepFile(path: "\(folder.path)/sleep.json", makeFolder: {})
      output = BoardSleepOutput(
        host: host, sink: JournalSink(to: notebook), file: file, power: logind,
        surroundings: BoardSleepOutput.Surroundings(
          clock: { [rtc] _ in rtc }, isTimeConfirmed: { _ in surroundings.isConfirmed.withLock { $0 } },
          isReal: { _ in surroundings.isReal.withLock { $0 } }, save: { [saves] in saves.append(1) }))
    }

    static func board(_ keys: String) throws -> Board {
      let text = """
        { name: 'x', devices: { gps: { driver: 'nmea', port: 'simulated/gps',
            power: { switch: 'gpio', chip: 'simulated', line: 'gps-power', lingerSeconds: 0 } } },
          fusion: { devices: [] }, sleep: { \(keys) } }
        """
      return try Board(json5: Array(text.utf8), file: "test")
    }

    /// Begins as the program does: first the sleep, then a request. No receiver is fused, so time runs out for each fix.
    func begin(requests: Bool = true) {
      output.begin()
      if requests {
        request = host.hub.fixes(on: Schedule(every: .seconds(600), within: .seconds(20))).subscribe(
          as: "request log", receiveValue: { [fixes] in fixes.append($0.due) })
      }
      watch = output.observe()
      pass(0.1)
    }

    func pass(_ seconds: Double) { clock.run(until: clock.now + .nanoseconds(Int64(seconds * 1e9))) }

    /// Suspends the machine until the alarm, and some seconds more.
    func sleep(late: Int64 = 2) throws {
      let alarm = try #require(rtc.set.value)
      sleep(for: Double(alarm - 3600 + late) - Double(system()) / 1e9)
    }

    func sleep(for seconds: Double) {
      surroundings.slept.withLock { $0 += Int64(seconds * 1e9) }
      clock.suspend(for: .nanoseconds(Int64(seconds * 1e9)))
      pass(0.1)
    }

    func end() async {
      watch?.cancel()
      request?.cancel()
      host.shutDown()
      await host.hub.isOff()
    }
  }

  private let folder = TemporaryFolder("sleep")

  @Test func `between two fixes the board is suspended, and is awake in time for the next one`() async throws {
    let bench = try Bench(folder: folder)
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
      #expect(eventually { bench.file.content?.sleep == nil })
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

  @Test func `a refusal is honoured, reported once, and tried again`() async throws {
    let bench = try Bench(folder: folder)
    bench.logind.refusals.withLock {
      $0 = [ShutdownRefusal](repeating: ShutdownRefusal(reason: "apt forbids it: an update"), count: 2)
    }
    bench.begin()
    bench.pass(51)
    let text = "the board stays awake: apt forbids it: an update"
    #expect(bench.notebook.has(text))
    #expect(bench.rtc.set.value == nil && bench.logind.requests.values.isEmpty)
    #expect(bench.logind.questions.waits { bench.logind.refusals.withLock { $0.count } == 1 })
    #expect(
      eventually {
        bench.pass(1)
        return bench.logind.requests.values.count == 1
      })
    #expect(bench.notebook.lines.count { $0 == text } == 1)
    await bench.end()
  }

  @Test func `a client keeps the board awake`() async throws {
    let bench = try Bench(folder: folder)
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

  @Test func `a connected client keeps the board awake if the board file names its output`() async throws {
    let bench = try Bench(Bench.keys + ", keep: ['gpsd']", folder: folder)
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

  @Test func `a board that would not wake does not sleep, and says why`() async throws {
    func line(
      _ keys: String = Bench.keys, _ prepare: (Bench) -> Void, requests: Bool = true
    ) async throws -> String? {
      let bench = try Bench(keys, folder: folder)
      prepare(bench)
      bench.begin(requests: requests)
      bench.pass(52)
      let isTold = bench.notebook.has("the board stays awake")
      #expect(isTold && bench.logind.requests.values.isEmpty && bench.file.content?.sleep == nil)
      #expect(bench.rtc.set.readOnly.waits { $0 == nil })
      let text = bench.notebook.lines.first { $0.hasPrefix("the board stays awake") }
      await bench.end()
      return text
    }
    let poweroff = "board: 'poweroff', idle: 30, afterStart: 0"
    let unconfirmed = try await line(poweroff) { bench in bench.surroundings.isConfirmed.withLock { $0 = false } }
    #expect(unconfirmed?.contains("clock is not confirmed") == true)
    let simulated = try await line { bench in bench.surroundings.isReal.withLock { $0 = false } }
    #expect(simulated?.contains("it has simulated devices, and this machine must not sleep for them") == true)
    let missing = try await line { bench in bench.rtc.isMissing.withLock { $0 = true } }
    #expect(missing?.hasSuffix("there is no /dev/rtc0") == true)
    let lost = try await line { bench in bench.rtc.losesAlarm.withLock { $0 = true } }
    #expect(lost?.hasSuffix("was set, but is off") == true)
    let user = try await line { bench in bench.logind.loggedIn.withLock { $0 = "pi" } }
    #expect(user?.contains("pi is logged in") == true)
    let hidden = try await line { bench in bench.logind.hidesUsers.withLock { $0 = true } }
    #expect(hidden?.contains("whether a user is logged in is unknown: Permission denied; loginctl") == true)
    let endless = try await line(Bench.keys, { _ in }, requests: false)
    #expect(endless?.contains("no fix is due later") == true)
  }

  @Test func `a board that logind does not suspend stays awake after a minute`() async throws {
    let bench = try Bench(folder: folder)
    bench.begin()
    bench.pass(51)
    #expect(bench.logind.requests.waits { $0.count == 1 })
    bench.pass(61)
    #expect(bench.notebook.has("was not suspended within 60 s; the alarm stays set"))
    #expect(eventually { bench.file.content?.sleep == nil })
    #expect(bench.rtc.set.value != nil)
    await bench.end()
  }

  @Test func `a board that logind suspends late wakes by its alarm, and its sleep is in the totals`() async throws {
    let bench = try Bench(folder: folder)
    bench.begin()
    bench.pass(51)
    #expect(bench.logind.requests.waits { $0.count == 1 })
    let alarm = try #require(bench.rtc.set.value)
    bench.pass(61)
    #expect(bench.notebook.has("was not suspended within 60 s"))
    // The next attempt is refused, and undoes only its own steps.
    bench.logind.answer.withLock { $0 = ShutdownRefusal(reason: "a sleep is under way") }
    #expect(
      eventually {
        bench.pass(1)
        return bench.logind.requests.values.count == 2
      })
    #expect(bench.notebook.has("the board stays awake: a sleep is under way"))
    #expect(eventually { bench.rtc.set.value == alarm })
    try bench.sleep()
    #expect(bench.notebook.has("the board is awake: its alarm for request log came"))
    #expect(eventually { bench.file.content?.sleepCount == 1 })
    #expect(bench.host.boardSleep.value?.sleepCount == 1)
    await bench.end()
  }

  @Test func `a suspension needs no confirmed time, because its alarm is relative`() async throws {
    let bench = try Bench(folder: folder)
    bench.surroundings.isConfirmed.withLock { $0 = false }
    bench.begin()
    bench.pass(51)
    #expect(bench.logind.requests.waits { $0 == [.suspend] })
    await bench.end()
  }

  @Test func `a receiver is on for a while to confirm the time, because one epoch for a fix does not`() async throws {
    let bench = try Bench("board: 'poweroff', idle: 30, afterStart: 0", folder: folder)
    bench.surroundings.isConfirmed.withLock { $0 = false }
    bench.begin()
    bench.pass(51)
    #expect(bench.notebook.has("its clock is not confirmed, so its alarm might never come: a receiver is on now"))
    #expect(eventually { bench.hardware.powerLines.level("gps-power") })
    #expect(eventually { bench.host.hub.devices.first?.holders.contains { $0.hasPrefix("board sleep") } == true })
    bench.pass(121)
    #expect(eventually { bench.host.hub.devices.first?.holders.isEmpty == true })
    bench.surroundings.isConfirmed.withLock { $0 = true }
    #expect(
      eventually {
        bench.pass(1)
        return bench.logind.requests.values == [.poweroff]
      })
    await bench.end()
  }

  @Test func `a machine that is not switched off although logind agreed gets its hub back`() async throws {
    let bench = try Bench("board: 'poweroff', idle: 30, afterStart: 0", folder: folder)
    let calls = Recorder<Int>()
    bench.host.whenMachineStaysOn { calls.append(1) }
    bench.begin()
    bench.pass(51)
    #expect(bench.notebook.has("is shutting down"))
    #expect(bench.file.content?.sleep != nil)
    bench.pass(170)
    #expect(!bench.host.machineStaysOn)
    bench.pass(15)
    #expect(calls.waits { $0 == [1] } && bench.host.machineStaysOn)
    await bench.end()
    // The next run does not take the time for a sleep.
    #expect(bench.file.content?.sleep == nil && bench.file.content?.sleepCount == 0)
  }

  @Test(arguments: [
    "'sleep':{'way':'poweroff','beganAt':-9223372036854775808,'alarmAt':9223372036854775807,'dueAt':9223372036854775807},",
    "'sleep':{'way':'poweroff','beganAt':0,'alarmAt':9223372036854775807,'dueAt':-9223372036854775808},",
    "'sleep':{'way':'poweroff','beganAt':1,'alarmAt':1,'dueAt':4000000000000000000},",
    "'trust':{'confirmedAt':-9223372036854775808,'difference':0},",
    "'trust':{'confirmedAt':1795478400000000000,'difference':-9223372036854775808},",
    "'sleepCount':9223372036854775807,", "'asleepSeconds':1e300,",
  ])
  func `absurd numbers in the kept data count as none`(_ part: String) async throws {
    let totals = ["'sleepCount':1,", "'asleepSeconds':1,"].filter { !part.hasPrefix($0.prefix(12)) }
    let text = "{" + part + totals.joined() + "'wakeTimes':{'suspend':[1e300],'poweroff':[-1e300]}}"
    let bytes = text.utf8.map { $0 == UInt8(ascii: "'") ? UInt8(ascii: "\"") : $0 }
    try Files.replace("\(folder.path)/sleep.json", with: bytes)
    let bench = try Bench("board: 'poweroff', idle: 30, afterStart: 0", folder: folder)
    #expect(bench.file.content == nil)
    bench.surroundings.isConfirmed.withLock { $0 = false }
    bench.begin()
    #expect(eventually { bench.host.boardSleep.value?.sleepCount == 0 })
    #expect(bench.notebook.lines.isEmpty)
    await bench.end()
  }

  @Test func `a command that has run before the attempt ended is reported`() async throws {
    // The hub of a test may run as root, which starts no program; its refusal comes after the attempt to run it.
    let bench = try Bench("board: 'suspend', idle: 30, afterStart: 0, command: ['/bin/false']", folder: folder)
    bench.begin()
    bench.pass(51)
    #expect(bench.notebook.has("but /bin/false has run already and is not undone"))
    #expect(bench.logind.requests.values.isEmpty)
    await bench.end()
  }

  @Test func `something else wakes the board, and it stays awake for a while`() async throws {
    let bench = try Bench("board: 'suspend', idle: 30, afterStart: 120", folder: folder)
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

  @Test func `a board that is switched off takes up the schedule when it has booted`() async throws {
    let keys = "board: 'poweroff', idle: 30, afterStart: 0"
    let first = try Bench(keys, folder: folder)
    first.begin()
    first.pass(51)
    #expect(first.logind.requests.waits { $0 == [.poweroff] })
    let sleep = try #require(first.file.content?.sleep)
    let due = try #require(sleep.dueAt)
    #expect(due % 600_000_000_000 == 0)
    #expect(first.notebook.has("is shutting down"))
    await first.end()

    // The next run begins 20 s after the alarm, with a clock that began again.
    let second = try Bench(keys, folder: folder, from: 15)
    let alarmAt = try #require(sleep.alarmAt)
    let ahead = alarmAt + 20_000_000_000 - second.system()
    second.surroundings.slept.withLock { $0 += ahead }
    // The real-time clock carries the time over.
    second.surroundings.isConfirmed.withLock { $0 = false }
    second.begin()
    #expect(second.notebook.has("its alarm for request log came 20 s ago; the fix is due in"))
    #expect(second.file.content?.wakeTimes.poweroff == [20])
    let next = try #require(second.host.hub.boardSituation.next)
    let untilDue = next.due - second.clock.now
    let left = due - second.system()
    #expect(abs(untilDue.inNanoseconds - left) < 10_000_000)
    second.pass((next.due - second.clock.now).inSeconds + 25)
    #expect(second.fixes.values.count == 1)
    // The next fix is an interval later.
    let later = try #require(second.host.hub.boardSituation.next).due
    #expect(later - next.due == .seconds(600))
    second.pass(30)
    #expect(second.logind.requests.waits { $0 == [.poweroff] })
    #expect(second.file.content?.sleepCount == 1)
    await second.end()
  }

  @Test func `after a sleep of unknown length hooks hear that the board is awake, and the alarm is off`() async throws {
    let keys = "board: 'poweroff', idle: 30, afterStart: 0"
    let first = try Bench(keys, folder: folder)
    first.begin()
    first.pass(51)
    #expect(first.logind.requests.waits { $0 == [.poweroff] })
    let alarm = try #require(first.rtc.set.value)
    await first.end()
    // The clock begins again, and nothing confirms it.
    let second = try Bench(keys, folder: folder, from: 15)
    second.surroundings.isConfirmed.withLock { $0 = false }
    second.rtc.set.value = alarm
    let notices = Recorder<BoardShutdownNotice>()
    let hooks = second.host.shutdownNotices.subscribe(as: "hooks", receiveValue: { notices.append($0) })
    second.begin(requests: false)
    #expect(second.notebook.has("is unknown, because its clock is not confirmed"))
    #expect(notices.values.map(\.isBegin) == [false])
    #expect(second.rtc.set.value == nil)
    hooks.cancel()
    await second.end()
  }

  @Test func `a board file that comes while the board is about to be suspended applies after the sleep`() async throws {
    let bench = try Bench(folder: folder)
    bench.begin()
    bench.pass(51)
    #expect(bench.logind.requests.waits { $0.count == 1 })
    await bench.host.hub.apply(try Bench.board("board: 'suspend', idle: 3600, afterStart: 0"))
    #expect(bench.rtc.set.value != nil && bench.file.content?.sleep != nil)
    try bench.sleep()
    #expect(bench.notebook.has("the board is awake: its alarm for request log came"))
    #expect(eventually { bench.file.content?.sleep == nil })
    let left = try #require(bench.host.hub.boardSituation.next).due - bench.clock.now
    bench.pass(left.inSeconds + 100)
    #expect(bench.logind.requests.values.count == 1)
    await bench.end()
  }

  @Test func `an alarm that another program switches off during the attempt keeps the board awake`() async throws {
    let bench = try Bench(folder: folder)
    bench.rtc.readings.withLock { $0 = 1 }
    bench.begin()
    bench.pass(51)
    #expect(bench.notebook.has("was set, but is off"))
    #expect(bench.logind.requests.values.isEmpty && bench.file.content?.sleep == nil)
    await bench.end()
  }

  @Test func `slow hooks do not let the alarm come while the board still shuts down`() async throws {
    let bench = try Bench("board: 'poweroff', idle: 30, afterStart: 0", folder: folder)
    let (clock, hub) = (bench.clock, bench.host.hub)
    let hooks = bench.host.shutdownNotices.subscribe(
      as: "hooks",
      receiveValue: { notice in
        // The alarm comes 90 s before the wake of the receiver, and is 30 s away when the hooks have ended.
        if notice.isBegin, let wake = hub.boardSituation.next?.wake {
          clock.run(until: wake.advanced(by: .seconds(-120)))
        }
        notice.told()
      })
    bench.begin()
    bench.pass(51)
    #expect(bench.notebook.has("too soon"))
    #expect(bench.logind.requests.values.isEmpty && bench.file.content?.sleep == nil)
    #expect(bench.rtc.set.readOnly.waits { $0 == nil })
    hooks.cancel()
    await bench.end()
  }

  @Test func `the alarm stays set if logind does not answer, because the board may sleep nevertheless`() async throws {
    let bench = try Bench("board: 'poweroff', idle: 30, afterStart: 0", folder: folder)
    bench.logind.answer.withLock { $0 = ShutdownRefusal.from { _, _ in -ETIMEDOUT } }
    bench.begin()
    bench.pass(51)
    #expect(bench.notebook.has("the board stays awake: logind did not answer"))
    #expect(bench.rtc.set.value != nil && bench.file.content?.sleep == nil)
    await bench.end()
  }

  @Test func `the end of the hub does not put the board to sleep without an alarm`() async throws {
    let bench = try Bench("board: 'suspend', idle: 30, afterStart: 0, withoutEnd: true", folder: folder)
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

  @Test(arguments: [
    ("user", true), ("user-early", true), ("user-light", true), ("greeter", false), ("manager", false),
    ("background", false),
  ])
  func `a session counts as a user's by its class`(_ name: String, _ isUser: Bool) {
    #expect(LogindPower.isUser(sessionClass: name) == isUser)
  }
}
