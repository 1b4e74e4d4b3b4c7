import MonotonicTime
import TestSupport
import Testing

@testable import Hub

/// The due times of fixes on a machine that sleeps in between.
struct SleptSchedulesTests {
  private static let schedule = Schedule(every: .seconds(600), within: .seconds(20))

  private static func at(_ seconds: Int64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: seconds * 1_000_000_000)
  }

  private func advance(_ plan: inout SchedulePlan, _ seconds: Int64) -> [SchedulePlan.Effect] {
    plan.advance(to: Self.at(seconds), lead: { _, _ in .seconds(5) })
  }

  @Test func `fixes stay one interval apart, however often the machine was suspended`() {
    var plan = SchedulePlan()
    plan.add(1, Self.schedule, at: Self.at(1000))
    _ = advance(&plan, 1000)
    // Time runs out, and the next fix is due at 1200.
    _ = advance(&plan, 1020)
    #expect(plan.due(of: 1) == Self.at(1200))
    var now: Int64 = 1020
    // The time by the clock that includes the sleeps.
    var total: Int64 = 1020
    for _ in 0..<4 {
      let slept: Int64 = 100
      plan.resume(after: .seconds(slept), at: Self.at(now))
      total += slept
      let due = (plan.due(of: 1) ?? .init(nanoseconds: 0)).nanoseconds / 1_000_000_000
      #expect((total + due - now) % 600 == 0)
      _ = advance(&plan, due)
      _ = advance(&plan, due + 20)
      (now, total) = (due + 20, total + due + 20 - now)
      let next = (plan.due(of: 1) ?? .init(nanoseconds: 0)).nanoseconds / 1_000_000_000
      #expect((total + next - now) % 600 == 0 && next - due == 600, "\(next) after \(due)")
    }
  }

  @Test func `a hub that was started for a fix makes it when it is due, and the next one an interval later`() {
    var plan = SchedulePlan()
    // UTC is 7000 s ahead of the clock, and the fix is due at 7200.
    plan.takeUp(offset: .seconds(7000), due: Self.at(200), at: Self.at(170))
    plan.add(1, Self.schedule, at: Self.at(170))
    #expect(plan.due(of: 1) == Self.at(200))
    // A client with another interval has its first fix at once.
    plan.add(2, Schedule(every: .seconds(500), within: .seconds(20)), at: Self.at(170))
    #expect(plan.due(of: 2) == Self.at(170))
    #expect(plan.firstWake(lead: { _, _ in .seconds(5) })?.id == 2)
    plan.remove(2)
    _ = advance(&plan, 195)
    #expect(plan.isUnderWay)
    _ = advance(&plan, 215)
    #expect(plan.due(of: 1) == Self.at(800))
  }

  @Test func `once the time is known, the next fix is due when the next run of the hub expects it`() {
    var plan = SchedulePlan()
    plan.add(1, Self.schedule, at: Self.at(10))
    _ = advance(&plan, 10)
    _ = advance(&plan, 30)
    let before = plan.due(of: 1)
    // UTC is 7000 s ahead of the clock, so that multiples of 600 s are at 200, 800 and 1400.
    plan.takeUp(offset: .seconds(7000), due: nil, at: Self.at(40))
    #expect(before == Self.at(600) && plan.due(of: 1) == Self.at(200))
    // The present run and the next one agree.
    var next = SchedulePlan()
    next.takeUp(offset: .seconds(7000), due: Self.at(200), at: Self.at(150))
    next.add(1, Self.schedule, at: Self.at(150))
    #expect(next.due(of: 1) == plan.due(of: 1))
    // A second call changes nothing, and a fix that is due now is not put off.
    plan.takeUp(offset: .seconds(7000), due: nil, at: Self.at(41))
    #expect(plan.due(of: 1) == Self.at(200))
    var first = SchedulePlan()
    first.add(1, Self.schedule, at: Self.at(10))
    first.takeUp(offset: .seconds(7000), due: nil, at: Self.at(10))
    #expect(first.due(of: 1) == Self.at(10))
  }

  @Test func `a fix that is late is made at once`() {
    var plan = SchedulePlan()
    plan.takeUp(offset: .seconds(7000), due: Self.at(200), at: Self.at(210))
    plan.add(1, Self.schedule, at: Self.at(210))
    #expect(plan.due(of: 1) == Self.at(210))
    _ = advance(&plan, 210)
    _ = advance(&plan, 230)
    #expect(plan.due(of: 1) == Self.at(800))
  }
}
