import Fusion
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// Requests for error-bounded positions without reception, for example in a garage.
struct SearchPauseTests {
  private typealias Bench = ScheduleBench

  private static func benchWithoutReception() throws -> Bench {
    let bench = try Bench(lingerSeconds: 0)
    bench.seconds = .max - 2
    return bench
  }

  private static func track(_ bench: Bench, _ got: Recorder<Bench.Got>) -> Subscription {
    let lease = bench.hub.fixes(errorMetres: 25, within: .seconds(60)).subscribe(
      as: .client("track[7]"), receiveValue: { [clock = bench.clock] in got.append(Bench.Got(fix: $0, at: clock.now)) })
    bench.settle()
    return lease
  }

  private static func isPaused(_ bench: Bench) -> Bool {
    bench.status.schedules.contains { $0.reason.hasPrefix("no fix since ") }
  }

  @Test func `without reception the receiver is on less and less, and a fix comes within an hour of reception`()
    async throws
  {
    let bench = try Self.benchWithoutReception()
    let got = Recorder<Bench.Got>()
    let lease = Self.track(bench, got)
    bench.pass(850)
    #expect(bench.isHigh && bench.rises == 1)
    // The first search takes a quarter of an hour, and the first pause a third of that.
    bench.pass(100)
    #expect(!bench.isHigh && Self.isPaused(bench), "\(bench.status)")
    bench.pass(200)
    #expect(!bench.isHigh)
    bench.pass(100)
    #expect(bench.isHigh)
    var last = bench.wire.highSeconds
    var hours: [Double] = []
    for _ in 0..<3 {
      bench.pass(3600)
      hours.append(bench.wire.highSeconds - last)
      last = bench.wire.highSeconds
    }
    #expect(hours[0] <= 600 && hours.allSatisfy { $0 >= 60 } && hours[2] < hours[0], "\(hours) s")
    #expect(got.values.allSatisfy { $0.fix.state.position == nil })
    bench.seconds = 4
    bench.pass(3700)
    #expect(got.values.contains { $0.fix.isMet })
    // Reception has been back, so the next search is as long as the first one.
    bench.seconds = .max - 2
    let searchedBefore = bench.wire.highSeconds
    bench.pass(1000)
    #expect(Self.isPaused(bench) && bench.wire.highSeconds - searchedBefore >= 890)
    let unmet = try #require(got.values.last)
    let pause = try #require(unmet.fix.searchPausesUntil)
    #expect((280...310).contains(pause.seconds(since: unmet.at)))
    lease.cancel()
    bench.settle()
    #expect(!bench.isHigh && bench.status.schedules.isEmpty)
    await bench.end()
  }

  @Test func `a fix for another client ends the pause at once`() async throws {
    let bench = try Self.benchWithoutReception()
    let got = Recorder<Bench.Got>()
    let lease = Self.track(bench, got)
    bench.pass(1000)
    #expect(Self.isPaused(bench))
    bench.seconds = 4
    let others = Recorder<FusedState>()
    let other = bench.hub.state(rateHz: 1, parts: [.position]).subscribe(
      as: .client("watch[8]"), receiveValue: { others.append($0) })
    #expect(bench.hub.waits { bench.status.power == .acquiring })
    bench.settle()
    bench.pass(15)
    #expect(got.values.contains { $0.fix.isMet }, "\(got.values.count)")
    other.cancel()
    lease.cancel()
    await bench.end()
  }

  @Test func `a receiver that is plugged in searches at once`() async throws {
    let bench = try Self.benchWithoutReception()
    let lease = Self.track(bench, Recorder())
    bench.pass(1000)
    #expect(Self.isPaused(bench) && !bench.isHigh)
    bench.hub.hasAppeared(try #require(bench.hub.board.devices.first))
    bench.settle()
    #expect(bench.isHigh && !Self.isPaused(bench), "\(bench.status)")
    // It may have no data about satellites, so it gets as long a search as the first one.
    bench.pass(800)
    #expect(bench.isHigh)
    bench.pass(150)
    #expect(Self.isPaused(bench) && !bench.isHigh)
    // If it appears because the hub has powered it for a search, the search goes on and later ends.
    bench.pass(300)
    #expect(bench.isHigh)
    bench.hub.hasAppeared(try #require(bench.hub.board.devices.first))
    bench.settle()
    bench.pass(180)
    #expect(Self.isPaused(bench) && !bench.isHigh)
    lease.cancel()
    await bench.end()
  }

  @Test func `another receiver searches at once`() async throws {
    let bench = try Self.benchWithoutReception()
    let lease = Self.track(bench, Recorder())
    bench.pass(1000)
    #expect(Self.isPaused(bench) && !bench.isHigh)
    bench.write(power: "settleMilliseconds: 20")
    try await bench.reload()
    #expect(bench.isHigh && !Self.isPaused(bench), "\(bench.status)")
    lease.cancel()
    await bench.end()
  }

  @Test func `an interval that the client has chosen is kept without reception`() async throws {
    let bench = try Self.benchWithoutReception()
    let got = Recorder<Bench.Got>()
    let lease = bench.subscribe("log[7]", Schedule(every: .seconds(300), within: .seconds(60)), got)
    bench.pass(7200)
    #expect((23...25).contains(got.values.count), "\(got.values.count)")
    lease.cancel()
    await bench.end()
  }

  // MARK: The plan

  private static func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64((1000 + seconds) * 1e9))
  }

  /// A client's plan, with the state of each second.
  private struct Plan {
    private(set) var plan = SchedulePlan()
    private(set) var second = 0.0
    private(set) var awakeSeconds = 0.0

    init() { plan.add(1, ErrorBound(metres: 25, within: .seconds(60)).schedule, at: at(0)) }

    /// A client that has searched for a quarter of an hour and pauses for five minutes.
    static func paused() -> Plan {
      var plan = Plan()
      plan.run(to: 960)
      #expect(plan.isPaused && plan.plan.awake.isEmpty)
      return plan
    }

    var isPaused: Bool { plan.isSearchPaused }
    /// The end of the pause in seconds; `nil` without a pause.
    var end: Double? { plan.pause(of: 1)?.end.seconds(since: at(0)) }

    mutating func run(to end: Double) {
      while second < end {
        second += 1
        awakeSeconds += plan.awake.isEmpty ? 0 : 1
        _ = plan.advance(to: at(second), lead: { _, _ in .zero })
      }
    }

    mutating func change(_ change: (inout SchedulePlan, MonotonicInstant) -> Void) {
      change(&plan, at(second))
      _ = plan.advance(to: at(second), lead: { _, _ in .zero })
    }

    mutating func fix(at instant: Double, radius: Double? = 5) {
      change { plan, now in
        _ = plan.receive(fix: SearchPauseTests.at(instant), radiusMetres: radius, isHeldByOthers: false, at: now)
      }
    }
  }

  @Test func `after a board has moved, the pauses are as short as the first one`() throws {
    var plan = Plan.paused()
    let first = try #require(plan.end)
    #expect((1210...1230).contains(first))
    plan.change { $0.move(1, at: $1) }
    // The search has just taken a quarter of an hour here.
    #expect(plan.end.map { abs($0 - first) <= 5 } == true)
    plan.run(to: 20_000)
    while plan.isPaused { plan.run(to: plan.second + 1) }
    while !plan.isPaused { plan.run(to: plan.second + 1) }
    let began = plan.second
    let long = try #require(plan.end)
    #expect(long - began > 2500)
    plan.change { $0.move(1, at: $1) }
    #expect(plan.end.map { $0 - plan.second <= 301 } == true)
    // Motion during a search shortens the next pause too.
    plan.run(to: plan.second + 330)
    #expect(plan.plan.awake == [1])
    plan.change { $0.move(1, at: $1) }
    while !plan.isPaused { plan.run(to: plan.second + 1) }
    #expect(plan.end.map { $0 - plan.second <= 301 } == true)
  }

  @Test func `a board that is moved again and again still pauses`() {
    var plan = Plan.paused()
    let before = plan.awakeSeconds
    for _ in 0..<200 {
      plan.run(to: plan.second + 90)
      plan.change { $0.move(1, at: $1) }
    }
    let share = (plan.awakeSeconds - before) / (200 * 90)
    #expect(share < 0.5, "\(share)")
  }

  @Test func `some of the later searches are as long as the first one`() {
    var plan = Plan.paused()
    var longest = 0
    var awake = 0
    for _ in 0..<40_000 {
      plan.run(to: plan.second + 1)
      awake = plan.isPaused ? 0 : awake + 1
      longest = max(longest, awake)
    }
    #expect((890...1000).contains(longest), "\(longest) s")
  }

  @Test func `the time of a suspension is a part of the pause, and not of the search`() throws {
    var plan = Plan.paused()
    let end = try #require(plan.end)
    plan.change { $0.resume(after: .seconds(200), at: $1) }
    #expect(plan.isPaused && plan.end.map { abs($0 - (end - 200)) < 1 } == true)
    var searching = Plan()
    searching.run(to: 100)
    searching.change { $0.resume(after: .seconds(7200), at: $1) }
    searching.run(to: 800)
    #expect(!searching.isPaused)
  }

  @Test func `dead reckoning that asks for an earlier fix does not end the pause`() throws {
    var plan = Plan.paused()
    let end = try #require(plan.end)
    plan.change { plan, now in
      var schedule = ErrorBound(metres: 25, within: .seconds(60)).schedule
      schedule.every = .seconds(3)
      plan.change(1, to: schedule, at: now)
    }
    #expect(plan.plan.due(of: 1)?.seconds(since: Self.at(0)) == end)
    plan.run(to: 1100)
    #expect(plan.isPaused && plan.plan.awake.isEmpty)
  }

  @Test func `a client that is due at another's wake does not come along in a pause`() {
    var plan = Plan.paused()
    plan.change { $0.add(2, Schedule(every: .seconds(600)), at: $1) }
    #expect(plan.plan.awake == [2] && plan.isPaused)
    // The other client's fix shows that there is reception.
    plan.run(to: plan.second + 5)
    plan.fix(at: plan.second)
    #expect(plan.plan.awake == [1, 2] && !plan.isPaused)
  }

  @Test func `while the last fix is repeated, nothing remains of an earlier search`() {
    var plan = Plan.paused()
    let until = Self.at(30_000)
    plan.change { $0.stand(1, until: until, at: $1) }
    plan.run(to: 1400)
    #expect(!plan.isPaused && plan.plan.awake.isEmpty)
    plan.change { $0.stand(1, until: nil, at: $1) }
    plan.run(to: 1500)
    #expect(plan.plan.awake == [1])
  }

  @Test func `inaccurate fixes are reception, and a fix from before the pause is not`() {
    var plan = Plan()
    for second in 1..<3000 {
      plan.run(to: Double(second))
      plan.fix(at: Double(second), radius: nil)
    }
    #expect(!plan.isPaused)
    var paused = Plan.paused()
    paused.fix(at: -10)
    #expect(paused.isPaused)
  }

  @Test func `with a long time limit, the later searches are short all the same`() {
    var plan = SchedulePlan()
    plan.add(1, ErrorBound(metres: 25, within: .seconds(3600)).schedule, at: Self.at(0))
    var awake: [Bool] = []
    for second in 0..<3000 {
      _ = plan.advance(to: Self.at(Double(second)), lead: { _, _ in .zero })
      awake.append(!plan.awake.isEmpty)
    }
    #expect((890...910).contains(awake.prefix(1100).count { $0 }))
    #expect((110...260).contains(awake.dropFirst(1150).prefix(800).count { $0 }))
  }
}
