import Guarding
import HardwareIO
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Outputs

/// The memory of a board that was switched off, after it has booted again.
@Suite(.timeLimit(.minutes(10)))
struct BoardSleepMemoryTests {
  private let folder = TemporaryFolder("sleep")

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
    let bench = try BoardSleepBench("board: 'poweroff', idle: 30, afterStart: 0", folder: folder)
    #expect(bench.file.content == nil)
    bench.surroundings.isConfirmed.withLock { $0 = false }
    bench.begin()
    #expect(bench.host.boardSleep.waits { $0?.sleepCount == 0 })
    #expect(bench.notebook.lines.isEmpty)
    await bench.end()
  }

  @Test func `a board that is switched off takes up the schedule when it has booted`() async throws {
    let keys = "board: 'poweroff', idle: 30, afterStart: 0"
    let first = try BoardSleepBench(keys, folder: folder)
    first.begin()
    first.pass(51)
    #expect(first.logind.requests.waits { $0 == [.poweroff] })
    let sleep = try #require(first.file.content?.sleep)
    let due = try #require(sleep.dueAt)
    #expect(due % 600_000_000_000 == 0)
    #expect(first.notebook.has("is shutting down"))
    await first.end()

    // The next run begins 20 s after the alarm, with a clock that began again.
    let second = try BoardSleepBench(keys, folder: folder, from: 15)
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

  @Test func `a clock that rounds its alarm down to whole minutes wakes the board, and this counts as its alarm`()
    async throws
  {
    let keys = "board: 'poweroff', idle: 30, afterStart: 0"
    let first = try BoardSleepBench(keys, folder: folder)
    first.rtc.step.withLock { $0 = 60 }
    first.begin()
    // In small steps, so that the clock advances by no second while the hub compares it with the real-time clock.
    first.pass(49.9)
    let isOff = eventually {
      first.pass(0.01)
      return first.logind.requests.values == [.poweroff]
    }
    #expect(isOff)
    let alarmAt = try #require(first.file.content?.sleep?.alarmAt)
    let set = try #require(first.rtc.set.value)
    #expect(set % 60 == 0 && set - 3600 == alarmAt / 1_000_000_000)
    await first.end()

    // The next run begins 20 s after the alarm, which is before the requested instant of the alarm or shortly after it.
    let second = try BoardSleepBench(keys, folder: folder, from: 15)
    let ahead = alarmAt + 20_000_000_000 - second.system()
    second.surroundings.slept.withLock { $0 += ahead }
    second.begin()
    #expect(second.notebook.has("its alarm for request log came 20 s ago; the fix is due in"))
    #expect(second.file.content?.wakeTimes.poweroff == [20])
    await second.end()
  }

  @Test func `after a sleep of unknown length hooks hear that the board is awake, and the alarm is off`() async throws {
    let keys = "board: 'poweroff', idle: 30, afterStart: 0"
    let first = try BoardSleepBench(keys, folder: folder)
    first.begin()
    first.pass(51)
    #expect(first.logind.requests.waits { $0 == [.poweroff] })
    let alarm = try #require(first.rtc.set.value)
    await first.end()
    // The clock begins again, and nothing confirms it.
    let second = try BoardSleepBench(keys, folder: folder, from: 15)
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
}
