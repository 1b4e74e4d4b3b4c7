import Glibc
import Guarding
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Outputs

/// Why a board stays awake, and what the attempt to sleep leaves behind.
@Suite(.timeLimit(.minutes(10)))
struct BoardSleepRefusalTests {
  private let folder = TemporaryFolder("sleep")

  @Test func `a refusal is honoured, reported once, and tried again`() async throws {
    let bench = try BoardSleepBench(folder: folder)
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

  @Test func `a board that would not wake does not sleep, and says why`() async throws {
    func line(
      _ keys: String = BoardSleepBench.keys, _ prepare: (BoardSleepBench) -> Void, requests: Bool = true
    ) async throws -> String? {
      let bench = try BoardSleepBench(keys, folder: folder)
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
    let endless = try await line(BoardSleepBench.keys, { _ in }, requests: false)
    #expect(endless?.contains("no fix is due later") == true)
  }

  @Test func `a board that logind does not suspend stays awake after a minute`() async throws {
    let bench = try BoardSleepBench(folder: folder)
    bench.begin()
    bench.pass(51)
    #expect(bench.logind.requests.waits { $0.count == 1 })
    bench.pass(61)
    #expect(bench.notebook.has("was not suspended within 60 s; the alarm stays set"))
    #expect(FileChanges.wait(in: folder.path) { bench.file.content?.sleep == nil })
    #expect(bench.rtc.set.value != nil)
    await bench.end()
  }

  @Test func `a board that logind suspends late wakes by its alarm, and its sleep is in the totals`() async throws {
    let bench = try BoardSleepBench(folder: folder)
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
    #expect(bench.rtc.set.readOnly.waits { $0 == alarm })
    try bench.sleep()
    #expect(bench.notebook.has("the board is awake: its alarm for request log came"))
    #expect(FileChanges.wait(in: folder.path) { bench.file.content?.sleepCount == 1 })
    #expect(bench.host.boardSleep.value?.sleepCount == 1)
    await bench.end()
  }

  @Test func `a machine that is not switched off although logind agreed gets its hub back`() async throws {
    let bench = try BoardSleepBench("board: 'poweroff', idle: 30, afterStart: 0", folder: folder)
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

  @Test func `a command that has run before the attempt ended is reported`() async throws {
    // The hub of a test may run as root, which starts no program; its refusal comes after the attempt to run it.
    let bench = try BoardSleepBench(
      "board: 'suspend', idle: 30, afterStart: 0, command: ['/bin/false']", folder: folder)
    bench.begin()
    bench.pass(51)
    #expect(bench.notebook.has("but /bin/false has run already and is not undone"))
    #expect(bench.logind.requests.values.isEmpty)
    await bench.end()
  }

  @Test func `an alarm that another program switches off during the attempt keeps the board awake`() async throws {
    let bench = try BoardSleepBench(folder: folder)
    bench.rtc.readings.withLock { $0 = 1 }
    bench.begin()
    bench.pass(51)
    #expect(bench.notebook.has("was set, but is off"))
    #expect(bench.logind.requests.values.isEmpty && bench.file.content?.sleep == nil)
    await bench.end()
  }

  @Test func `slow hooks do not let the alarm come while the board still shuts down`() async throws {
    let bench = try BoardSleepBench("board: 'poweroff', idle: 30, afterStart: 0", folder: folder)
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
    let bench = try BoardSleepBench("board: 'poweroff', idle: 30, afterStart: 0", folder: folder)
    bench.logind.answer.withLock { $0 = ShutdownRefusal.from { _, _ in -ETIMEDOUT } }
    bench.begin()
    bench.pass(51)
    #expect(bench.notebook.has("the board stays awake: logind did not answer"))
    #expect(bench.rtc.set.value != nil && bench.file.content?.sleep == nil)
    await bench.end()
  }

  @Test(arguments: [
    (EBUSY, "systemd-inhibit --list"), (EACCES, "install polkitd"), (EPERM, "install polkitd"),
    (EOPNOTSUPP, "set 'sleep.board'"), (ENOENT, "install dbus"), (EHOSTUNREACH, "systemctl status systemd-logind"),
    (ENXIO, "systemctl status systemd-logind"),
  ])
  func `a refusal of logind, or its absence, names the next step`(_ error: Int32, _ nextStep: String) {
    let refusal = ShutdownRefusal.from { _, _ in -error }
    #expect(refusal?.nextStep?.hasPrefix(nextStep) == true && refusal?.isUnanswered == false)
  }

  @Test(arguments: [
    ("user", true), ("user-early", true), ("user-light", true), ("greeter", false), ("manager", false),
    ("background", false),
  ])
  func `a session counts as a user's by its class`(_ name: String, _ isUser: Bool) {
    #expect(LogindPower.isUser(sessionClass: name) == isUser)
  }
}
