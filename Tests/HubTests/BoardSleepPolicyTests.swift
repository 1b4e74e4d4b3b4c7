import MonotonicTime
import TestSupport
import Testing

@testable import Hub

/// When the machine sleeps, and why it stays awake.
struct BoardSleepPolicyTests {
  typealias Policy = BoardSleepPolicy

  private static func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64((1000 + seconds) * 1e9))
  }

  private static func fix(_ wake: Double, for holder: String = "request log") -> Policy.NextFix {
    Policy.NextFix(wake: at(wake), due: at(wake + 5), holder: holder)
  }

  private static func situation(_ wake: Double? = 600, needs: [String] = []) -> Policy.Situation {
    Policy.Situation(needs: needs, next: wake.map { fix($0) })
  }

  private static let suspend = BoardSleepSettings(.suspend, idle: .seconds(30), afterStart: .seconds(300))

  private func policy(_ settings: BoardSleepSettings = suspend, wasWoken: Bool = true) -> Policy {
    Policy(settings, wasWoken: wasWoken, at: Self.at(0))
  }

  private func look(
    _ policy: inout Policy, _ seconds: Double, _ situation: Policy.Situation = situation(), wakeTime: Double = 10
  ) -> [Policy.Effect] {
    policy.look(situation, wakeTime: .seconds(wakeTime), at: Self.at(seconds))
  }

  @Test func `a board that nothing needs sleeps after its idle time, until shortly before the next fix`() {
    var policy = policy()
    #expect(look(&policy, 0) == [.stay(.idle(until: Self.at(30)))])
    #expect(policy.nextLook == Self.at(30))
    #expect(look(&policy, 29).isEmpty)
    let plan = Policy.Plan(fix: Self.fix(600), alarm: Self.at(590))
    #expect(look(&policy, 30) == [.prepare(plan)])
    #expect(policy.isPreparing(plan) && policy.nextLook == nil)
    // Another look while the board is being put to sleep changes nothing.
    #expect(look(&policy, 31).isEmpty)
    let sleeps = policy.sleeps(plan)
    #expect(sleeps && policy.sleep == plan)
    #expect(look(&policy, 32, Self.situation(needs: ["a client holds gps"])).isEmpty)
    policy.woke(wasWoken: true, at: Self.at(33))
    #expect(policy.sleep == nil)
    #expect(look(&policy, 33) == [.stay(.idle(until: Self.at(63)))])
  }

  @Test func `a client keeps the board awake, and the idle time begins when it has left`() {
    var policy = policy()
    _ = look(&policy, 0)
    let held = Self.situation(needs: ["gpsd 127.0.0.1:51 holds gps"])
    #expect(look(&policy, 20, held) == [.stay(.needed(held.needs))])
    #expect(policy.nextLook == nil)
    #expect(look(&policy, 100) == [.stay(.idle(until: Self.at(130)))])
    #expect(look(&policy, 129).isEmpty)
    #expect(look(&policy, 130).count == 1)
  }

  @Test func `a client that comes while the board is being put to sleep keeps it awake`() {
    var policy = policy()
    _ = look(&policy, 0)
    let effects = look(&policy, 30)
    guard case .prepare(let plan)? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    let held = Self.situation(needs: ["a client holds gps"])
    #expect(look(&policy, 31, held) == [.abandon(plan), .stay(.needed(held.needs))])
    let sleeps = policy.sleeps(plan)
    #expect(!sleeps && policy.sleep == nil)
  }

  @Test func `an earlier fix abandons the plan, and a later one does not`() {
    var policy = policy()
    _ = look(&policy, 0)
    _ = look(&policy, 30)
    #expect(look(&policy, 31, Self.situation(700)).isEmpty)
    #expect(look(&policy, 31, Self.situation(300)).first == .abandon(.init(fix: Self.fix(600), alarm: Self.at(590))))
  }

  @Test(arguments: [(BoardSleepSettings.Way.suspend, 15.0), (.poweroff, 120)])
  func `a fix that is too near keeps the board awake`(_ way: BoardSleepSettings.Way, _ least: Double) {
    var policy = policy(BoardSleepSettings(way, idle: .seconds(30)))
    _ = look(&policy, 0)
    // The alarm comes 10 s before the wake.
    let near = Self.situation(30 + 10 + least - 1)
    let effects = look(&policy, 30, near)
    #expect(effects.count == 1)
    guard case .stay(.fixTooSoon(_, let seconds))? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    #expect(seconds == least + 10 && policy.nextLook == nil)
    #expect(policy.stay?.isProblem == false)
    #expect(look(&policy, 30, Self.situation(30 + 10 + least)).count == 1)
    #expect(policy.stay?.isProblem == false)
  }

  @Test func `an alarm in the past keeps the board awake`() {
    var policy = policy()
    _ = look(&policy, 0)
    let effects = look(&policy, 30, Self.situation(20))
    guard case .stay(.fixTooSoon)? = effects.first else {
      Issue.record("\(effects)")
      return
    }
  }

  @Test func `without a later fix the board sleeps only if the board file says so`() {
    var policy = policy()
    _ = look(&policy, 0, Self.situation(nil))
    #expect(look(&policy, 30, Self.situation(nil)) == [.stay(.noFixLater)])
    #expect(Policy.Stay.noFixLater.isProblem && policy.nextLook == nil)
    var endless = self.policy(BoardSleepSettings(.suspend, idle: .seconds(30), sleepsWithoutEnd: true))
    _ = look(&endless, 0, Self.situation(nil))
    #expect(look(&endless, 30, Self.situation(nil)) == [.prepare(.init(fix: nil, alarm: nil))])
  }

  @Test func `a refusal is tried again after growing pauses, and a sleep ends them`() {
    var policy = policy()
    _ = look(&policy, 0, Self.situation(100_000))
    var now = 30.0
    for pause in [60.0, 120, 240, 480, 900, 900] {
      guard case .prepare(let plan)? = look(&policy, now, Self.situation(100_000)).first else {
        Issue.record("no attempt at \(now)")
        return
      }
      let effects = policy.refused(plan, "apt forbids it: an update", at: Self.at(now))
      // The reason is reported once.
      #expect(effects == (pause == 60 ? [.stay(.refused("apt forbids it: an update"))] : []))
      #expect(policy.nextLook == Self.at(now + pause))
      #expect(look(&policy, now + pause - 1, Self.situation(100_000)).isEmpty)
      now += pause
    }
    let effects = look(&policy, now, Self.situation(100_000))
    guard case .prepare(let plan)? = effects.first else {
      Issue.record("\(effects)")
      return
    }
    let sleeps = policy.sleeps(plan)
    #expect(sleeps)
    policy.woke(wasWoken: true, at: Self.at(now))
    _ = look(&policy, now, Self.situation(100_000))
    _ = look(&policy, now + 30, Self.situation(100_000))
    // A refusal of an earlier plan has no effect.
    let late = policy.refused(.init(fix: nil, alarm: nil), "x", at: Self.at(now + 30))
    #expect(late.isEmpty)
    _ = policy.refused(plan, "x", at: Self.at(now + 30))
    #expect(policy.nextLook == Self.at(now + 90))
  }

  @Test func `after a start or a wake that the alarm did not cause, the board stays awake for a while`() {
    var policy = policy(wasWoken: false)
    #expect(look(&policy, 0) == [.stay(.idle(until: Self.at(300)))])
    #expect(look(&policy, 299).isEmpty)
    guard case .prepare(let plan)? = look(&policy, 300).first else {
      Issue.record("it does not sleep")
      return
    }
    let sleeps = policy.sleeps(plan)
    #expect(sleeps)
    policy.woke(wasWoken: false, at: Self.at(310))
    #expect(look(&policy, 310, Self.situation(5000)) == [.stay(.idle(until: Self.at(610)))])
  }

  // MARK: The alarm and the clock

  @Test func `the alarm is set by the date of the real-time clock`() {
    // The real-time clock is an hour ahead, as one in local time.
    let alarm = WakeAlarm(at: 5_000_700_000_000, clock: 8600, system: 5_000_000_000_000)
    #expect(alarm.instant == 8600 && alarm.difference == 3600)
    let later = WakeAlarm(at: 5_600_900_000_000, clock: 8600, system: 5_000_100_000_000)
    #expect(later.instant == 9200)
    #expect(later.problem(clock: 8601, readBack: 9200, least: 5) == nil)
    #expect(later.problem(clock: 8601, readBack: 9199, least: 5) == nil)
    // A clock whose alarm has no seconds rounds it down.
    #expect(later.problem(clock: 8601, readBack: 9141, least: 5) == nil && later.secondsEarly(readBack: 9141) == 59)
    #expect(later.problem(clock: 9138, readBack: 9141, least: 5)?.contains("3 s from now") == true)
    #expect(later.problem(clock: 8601, readBack: 9139, least: 5)?.contains("-61 s away from it") == true)
    #expect(later.problem(clock: 8601, readBack: nil, least: 5)?.contains("is off") == true)
    #expect(later.problem(clock: 8601, readBack: 9260, least: 5)?.contains("60 s away") == true)
    #expect(later.secondsEarly(readBack: 9201) == 0)
    #expect(later.problem(clock: 9200, readBack: 9200, least: 5)?.contains("in the past") == true)
    #expect(later.problem(clock: 9197, readBack: 9200, least: 5)?.contains("too soon") == true)
  }

  @Test func `the real-time clock carries a confirmed time over a sleep`() {
    let second: Int64 = 1_000_000_000
    let trust = ClockTrust(system: 1000 * second, clock: 1000)
    #expect(trust.holds(system: 1600 * second, clock: 1600))
    #expect(trust.holds(system: 1600 * second, clock: 1602))
    // The system clock was set from a file at the start.
    #expect(!trust.holds(system: 1010 * second, clock: 1600))
    // Both clocks began again.
    #expect(!trust.holds(system: 10 * second, clock: 10))
    // After more than a week the clocks may have drifted.
    #expect(!trust.holds(system: (1000 + 8 * 86_400) * second, clock: 1000 + 8 * 86_400))
  }

  @Test func `the time from an alarm to a running hub is learned`() {
    var times = BoardWakeTimes()
    #expect(times.lead(.suspend) == 10 && times.lead(.poweroff) == 90)
    for seconds in [20.0, 21] { times.add(seconds, .poweroff) }
    #expect(times.lead(.poweroff) > 1.5 * 20, "few starts are known, and the next can take half longer")
    for seconds in [22.0, 21] { times.add(seconds, .poweroff) }
    #expect(times.lead(.poweroff) == 24.5)
    #expect(times.lead(.suspend) == 10)
    times.add(5000, .poweroff)
    times.add(-1, .poweroff)
    #expect(times.poweroff.count == 4)
    for _ in 0..<20 { times.add(3, .poweroff) }
    #expect(times.poweroff.count == 10 && times.lead(.poweroff) == 5)
  }

  // MARK: Awake again

  private func memory(alarm: Int64? = 600) -> BoardSleepMemory {
    var memory = BoardSleepMemory()
    memory.sleep = BoardSleepMemory.Sleep(
      .poweroff, beganAt: 0, alarmAt: alarm.map { $0 * 1_000_000_000 }, dueAt: alarm.map { ($0 + 40) * 1_000_000_000 },
      holder: alarm.map { _ in "request log" })
    return memory
  }

  @Test func `after a sleep the hub knows why the board woke and how late, and learns from it`() {
    var memory = memory()
    let wake = memory.wake(at: 621_000_000_000)
    #expect(wake?.cause == .alarm(secondsAgo: 21) && wake?.isByAlarm == true && wake?.secondsUntilDue == 19)
    #expect(wake?.description == "the board is awake: its alarm for request log came 21 s ago; the fix is due in 19 s")
    #expect(memory.sleep == nil && memory.sleepCount == 1 && memory.asleepSeconds == 621)
    #expect(memory.wakeTimes.poweroff == [21])
    #expect(memory.wake(at: 630_000_000_000) == nil)
  }

  @Test func `a wake for another reason teaches nothing`() {
    var early = memory()
    #expect(early.wake(at: 300_000_000_000)?.cause == .early(seconds: 300))
    var missed = memory()
    let wake = missed.wake(at: 4_200_000_000_000)
    #expect(wake?.cause == .missed(secondsAgo: 3600))
    #expect(wake?.description.hasSuffix("the fix is 3560 s late") == true)
    var endless = memory(alarm: nil)
    #expect(endless.wake(at: 300_000_000_000)?.cause == .withoutAlarm)
    #expect(early.wakeTimes == BoardWakeTimes() && missed.wakeTimes == BoardWakeTimes())
    // A clock that was set back gives no duration.
    var back = memory()
    _ = back.wake(at: -5_000_000_000)
    #expect(back.asleepSeconds == 0 && back.sleepCount == 1)
  }
}
