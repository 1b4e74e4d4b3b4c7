import Fusion
import MonotonicTime
import TestSupport
import Testing

@testable import Hub

/// When devices are woken for scheduled fixes.
struct SchedulePlanTests {
  private static let minute = Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45))

  private static func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64((1000 + seconds) * 1e9))
  }

  /// A simulated receiver with one fix a second. After each start its fixes are poor, and after `seconds` they are
  /// good.
  private struct World {
    private(set) var plan = SchedulePlan()
    private(set) var times = AcquisitionTimes()
    /// The seconds from the start until fixes are as good as they get.
    var seconds: () -> Double = { 6 }
    var goodMetres = 5.0
    var isBroken = false
    var isHeldByOthers = false
    private(set) var now = 0.0
    private(set) var onSince: Double?
    private(set) var wakes = 0
    private(set) var onSeconds = 0.0
    private(set) var delivered: [(id: Int, at: Double, isMet: Bool)] = []
    /// The ages of the fixes that were passed on, by client.
    private(set) var ages: [Int: [Double]] = [:]
    private var kept: [Int: Double] = [:]
    private var trace: AcquisitionTrace?
    private var takes = 0.0

    private var lead: SchedulePlan.Lead {
      { [times] schedule, _ in
        .milliseconds(
          Int64(1000 * times.lead(to: .init(of: schedule.accuracyMetres), after: .hot, firstFixSeconds: nil)))
      }
    }

    mutating func add(_ id: Int, _ schedule: Schedule) {
      plan.add(id, schedule, at: SchedulePlanTests.at(now))
      advance()
    }

    private mutating func perform(_ effects: [SchedulePlan.Effect]) {
      for effect in effects {
        switch effect {
        case .keep(let id): kept[id] = now
        case .settled(let id):
          let grade = AcquisitionTimes.Grade(of: plan.schedule(of: id)?.accuracyMetres)
          trace?.settle(grade, at: SchedulePlanTests.at(now), &times)
        case .deliver(let id, _, let isMet):
          delivered.append((id, now, isMet))
          ages[id, default: []].append(now - (kept[id] ?? -.infinity))
          kept[id] = nil
        case .again: preconditionFailure("nothing stands here")
        }
      }
      if plan.awake.isEmpty, let since = onSince {
        onSeconds += now - since
        (onSince, trace) = (nil, nil)
      } else if !plan.awake.isEmpty, onSince == nil {
        (onSince, takes) = (now, seconds())
        trace = AcquisitionTrace(.hot, at: SchedulePlanTests.at(now))
        wakes += 1
      }
    }

    private mutating func advance() { perform(plan.advance(to: SchedulePlanTests.at(now), lead: lead)) }

    /// Runs in steps of a tenth of a second, with an epoch each second.
    mutating func run(to end: Double) {
      while now < end {
        now = (10 * now + 1).rounded() / 10
        if let since = onSince, !isBroken, now == now.rounded(), now > since {
          let radius = now - since >= takes ? goodMetres : 10 * goodMetres
          let at = SchedulePlanTests.at(now)
          trace?.receive(fix: at, radiusMetres: radius, at: at, &times)
          perform(plan.receive(fix: at, radiusMetres: radius, isHeldByOthers: isHeldByOthers, at: at))
        }
        advance()
      }
    }

    var isOff: Bool { onSince == nil }
  }

  @Test(arguments: [(4.0, 7.0), (20.0, 30.0), (1.0, 12.0)])
  func `after ten starts, fixes come at their time and the device is on for little else`(
    _ least: Double, _ most: Double
  ) {
    var chance = SeededRandom()
    var world = World()
    world.seconds = { most }
    world.add(1, SchedulePlanTests.minute)
    func live(_ minutes: Int) {
      for _ in 0..<minutes {
        let takes = Double.random(in: least...most, using: &chance)
        world.seconds = { takes }
        world.run(to: world.now + 60)
      }
    }
    live(11)
    let learnt = world.delivered.count
    let onSeconds = world.onSeconds
    live(200)
    let fixes = world.delivered.dropFirst(learnt)
    #expect(fixes.count >= 199 && fixes.allSatisfy(\.isMet))
    // The clock began 1000 s earlier.
    let late = fixes.map { ($0.at + 1000).truncatingRemainder(dividingBy: 60) }
    let punctual = late.count { $0 <= 1 }
    #expect(punctual * 100 >= fixes.count * 95, "\(punctual) of \(fixes.count)")
    // The limit for each fix is the mean duration of a start, and two seconds.
    let needed = 200 * ((least + most) / 2 + 2)
    #expect(world.onSeconds - onSeconds < needed, "\(world.onSeconds - onSeconds) s on of \(needed)")
  }

  @Test func `two clients with matching intervals share each wake, and each gets its fix at its time`() {
    var world = World()
    world.add(1, SchedulePlanTests.minute)
    world.run(to: 100)
    world.add(2, Schedule(every: .seconds(120), accuracyMetres: 20, within: .seconds(45)))
    world.run(to: 160)
    let wakes = world.wakes
    world.run(to: 160 + 1200)
    #expect((20...21).contains(world.wakes - wakes), "\(world.wakes - wakes) wakes in 20 minutes")
    #expect(world.delivered.count { $0.id == 1 && $0.isMet } >= 21)
    #expect(world.delivered.count { $0.id == 2 && $0.isMet } >= 10)
  }

  @Test func `on a board that sleeps between fixes, they keep their interval`() {
    func at(_ seconds: Double) -> MonotonicInstant { SchedulePlanTests.at(seconds) }
    let lead: SchedulePlan.Lead = { _, _ in .seconds(2) }
    var plan = SchedulePlan()
    plan.add(1, Schedule(every: .seconds(60)), at: at(0))
    _ = plan.advance(to: at(0), lead: lead)
    _ = plan.receive(fix: at(1), radiusMetres: 5, isHeldByOthers: false, at: at(1))
    _ = plan.receive(fix: at(2), radiusMetres: 5, isHeldByOthers: false, at: at(2))
    _ = plan.advance(to: at(2), lead: lead)
    // The clock began 1000 s earlier.
    #expect(plan.due(of: 1) == at(20))
    // The machine sleeps for 45 s of each minute, and its monotonic clock stands still.
    var now = 20.0
    for minute in 1...5 {
      _ = plan.advance(to: at(now - 2), lead: lead)
      _ = plan.receive(fix: at(now - 1), radiusMetres: 5, isHeldByOthers: false, at: at(now - 1))
      _ = plan.receive(fix: at(now - 0.1), radiusMetres: 5, isHeldByOthers: false, at: at(now - 0.1))
      let effects = plan.advance(to: at(now), lead: lead)
      #expect(effects == [.deliver(1, due: at(now), isMet: true)], "minute \(minute)")
      #expect(plan.due(of: 1) == at(now + 60), "minute \(minute)")
      plan.resume(after: .seconds(45), at: at(now + 1))
      now += 15
    }
  }

  @Test func `a client that is due a while later gets its fix at once, and the next one at its own time`() {
    func at(_ seconds: Double) -> MonotonicInstant { SchedulePlanTests.at(seconds) }
    // A start takes two seconds.
    let lead: SchedulePlan.Lead = { _, _ in .seconds(2) }
    var plan = SchedulePlan()
    // The clock began 1000 s earlier, so the fixes are due at 200 and 800, and at 220 and 830.
    plan.add(1, Schedule(every: .seconds(600)), at: at(0))
    plan.add(2, Schedule(every: .seconds(610)), at: at(0))
    func pass(_ instants: Double...) -> [SchedulePlan.Effect] {
      var effects: [SchedulePlan.Effect] = []
      for instant in instants {
        effects += plan.receive(fix: at(instant), radiusMetres: 5, isHeldByOthers: false, at: at(instant))
        effects += plan.advance(to: at(instant), lead: lead)
      }
      return effects.filter { if case .deliver = $0 { true } else { false } }
    }
    _ = plan.advance(to: at(0), lead: lead)
    _ = pass(1, 2)
    #expect(plan.due(of: 1) == at(200) && plan.due(of: 2) == at(220))
    #expect(plan.advance(to: at(198), lead: lead) == [] && plan.awake == [1, 2])
    #expect(pass(199, 199.9) == [.deliver(2, due: at(220), isMet: true)])
    // The fix of the first client is held until it is due.
    #expect(plan.awake.isEmpty && plan.phase(of: 1) == .holding(isMet: true))
    #expect(plan.advance(to: at(200), lead: lead) == [.deliver(1, due: at(200), isMet: true)])
    #expect(plan.due(of: 1) == at(800) && plan.due(of: 2) == at(830))
    // A lead of 30 s is too much to share a wake.
    #expect(plan.advance(to: at(798), lead: lead) == [] && plan.awake == [1])
  }

  @Test func `a client that needs less accuracy does not get an old fix because another one needs more`() {
    var world = World()
    world.seconds = { 20 }
    world.add(1, Schedule(every: .seconds(60), accuracyMetres: 5, within: .seconds(45)))
    // For this client the poor fixes are good enough.
    world.add(2, Schedule(every: .seconds(60), accuracyMetres: 50, within: .seconds(45)))
    world.run(to: 1200)
    #expect(world.wakes <= 21)
    let ages = world.ages[2, default: []].suffix(10)
    #expect(ages.count == 10 && ages.allSatisfy { $0 <= 4 }, "\(ages)")
  }

  @Test func `while another client keeps the device awake, the fix is a new one`() {
    var world = World()
    world.seconds = { 10 }
    world.add(1, SchedulePlanTests.minute)
    world.run(to: 900)
    world.isHeldByOthers = true
    world.run(to: 1500)
    let ages = world.ages[1, default: []].suffix(8)
    #expect(ages.allSatisfy { $0 <= 1 }, "\(ages)")
  }

  @Test func `a schedule that cannot be met is reported at its time, and the device is released each time`() {
    var world = World()
    world.goodMetres = 30
    world.add(1, SchedulePlanTests.minute)
    world.run(to: 600)
    #expect(world.delivered.count >= 9 && world.delivered.allSatisfy { !$0.isMet })
    #expect(world.onSeconds <= Double(world.wakes) * 45.2)
  }

  @Test func `a device that gives nothing is released when the time for a fix is over`() {
    var world = World()
    world.isBroken = true
    world.add(1, Schedule(every: .seconds(300), accuracyMetres: 10, within: .seconds(45)))
    world.run(to: 46)
    #expect(world.isOff && world.delivered.map(\.isMet) == [false])
  }

  @Test func `a period without reception does not lengthen the learned start times`() {
    var world = World()
    world.add(1, SchedulePlanTests.minute)
    world.run(to: 900)
    world.isBroken = true
    world.run(to: 1500)
    #expect(world.delivered.last?.isMet == false)
    world.isBroken = false
    world.run(to: 1800)
    let ages = world.ages[1, default: []].suffix(4)
    #expect(ages.allSatisfy { $0 <= 4 }, "\(ages)")
  }

  @Test func `without clients, no timer is set`() {
    var plan = SchedulePlan()
    plan.add(1, SchedulePlanTests.minute, at: SchedulePlanTests.at(0))
    #expect(plan.nextInstant(lead: { _, _ in .zero }) == SchedulePlanTests.at(0))
    plan.remove(1)
    #expect(plan.isEmpty && plan.nextInstant(lead: { _, _ in .zero }) == nil)
  }

  @Test func `neither the first fix after a start nor one from before the start is delivered`() {
    var plan = SchedulePlan()
    plan.add(1, SchedulePlanTests.minute, at: SchedulePlanTests.at(0))
    #expect(plan.advance(to: SchedulePlanTests.at(0), lead: { _, _ in .zero }) == [])
    #expect(plan.awake == [1])
    func receive(_ at: Double, _ radius: Double?) -> [SchedulePlan.Effect] {
      plan.receive(
        fix: SchedulePlanTests.at(at), radiusMetres: radius, isHeldByOthers: false, at: SchedulePlanTests.at(at))
    }
    #expect(receive(-1, 1) == [])
    #expect(receive(1, 1) == [.keep(1)] && plan.awake == [1])
    // The same fix comes in another state.
    #expect(receive(1, 1) == [] && plan.awake == [1])
    #expect(receive(2, nil) == [.keep(1)] && plan.awake == [1])
    #expect(receive(3, 9) == [.settled(1), .keep(1)] && plan.awake.isEmpty)
  }

  @Test func `a fix that comes early waits until it is due, unless its client takes it early`() {
    func at(_ seconds: Double) -> MonotonicInstant { SchedulePlanTests.at(seconds) }
    let lead: SchedulePlan.Lead = { _, _ in .seconds(10) }
    for isEarly in [false, true] {
      var schedule = SchedulePlanTests.minute
      schedule.takesEarlyFix = isEarly
      var plan = SchedulePlan()
      plan.add(1, schedule, at: at(0))
      #expect(plan.advance(to: at(0), lead: lead) == [])
      for second in [1.0, 2] {
        _ = plan.receive(fix: at(second), radiusMetres: 5, isHeldByOthers: false, at: at(second))
      }
      #expect(plan.advance(to: at(2), lead: lead) == [.deliver(1, due: at(0), isMet: true)])
      // The clock began 1000 s earlier, so the next fix is due at 20, and the receiver is woken at 10.
      #expect(plan.advance(to: at(10), lead: lead) == [] && plan.awake == [1])
      for second in [12.0, 13] {
        _ = plan.receive(fix: at(second), radiusMetres: 5, isHeldByOthers: false, at: at(second))
      }
      let delivery = SchedulePlan.Effect.deliver(1, due: at(20), isMet: true)
      #expect(plan.advance(to: at(13), lead: lead) == (isEarly ? [delivery] : []))
      guard isEarly else {
        #expect(plan.advance(to: at(20), lead: lead) == [delivery] && plan.due(of: 1) == at(80))
        continue
      }
      #expect(plan.due(of: 1) == at(80))
      // The receiver rests until then, even if the next fix is due soon.
      schedule.every = .seconds(5)
      plan.change(1, to: schedule, at: at(13))
      #expect(plan.due(of: 1) == at(18) && plan.nextInstant(lead: lead) == at(20))
      #expect(plan.advance(to: at(19), lead: lead) == [] && plan.awake.isEmpty)
      #expect(plan.advance(to: at(20), lead: lead) == [] && plan.awake == [1])
    }
  }

  @Test func `a client on a still board gets the last fix again without a wake, until it is too old`() {
    func at(_ seconds: Double) -> MonotonicInstant { SchedulePlanTests.at(seconds) }
    let lead: SchedulePlan.Lead = { _, _ in .seconds(5) }
    var plan = SchedulePlan()
    plan.add(1, SchedulePlanTests.minute, at: at(0))
    #expect(plan.advance(to: at(0), lead: lead) == [])
    for second in [1.0, 2] { _ = plan.receive(fix: at(second), radiusMetres: 5, isHeldByOthers: false, at: at(second)) }
    #expect(plan.hasGoodFix(1))
    #expect(plan.advance(to: at(2), lead: lead) == [.deliver(1, due: at(0), isMet: true)])
    // The clock began 1000 s earlier, so the fixes are due at 20, 80, 140 and so on.
    plan.stand(1, until: at(150), at: at(3))
    #expect(plan.stands(1) && plan.nextInstant(lead: lead) == at(20) && plan.nextWake(at: at(3), lead: lead) == nil)
    for due in [20.0, 80, 140] {
      #expect(plan.advance(to: at(due - 1), lead: lead) == [] && plan.awake == [])
      #expect(plan.advance(to: at(due), lead: lead) == [.again(1, due: at(due))] && plan.awake == [])
    }
    #expect(!plan.stands(1) && plan.nextInstant(lead: lead) == at(195))
    plan.stand(1, until: at(1000), at: at(150))
    plan.move(1, at: at(150))
    #expect(plan.due(of: 1) == at(150) && plan.advance(to: at(150), lead: lead) == [] && plan.awake == [1])
    // Further motion wakes no device a second time.
    plan.move(1, at: at(151))
    #expect(plan.due(of: 1) == at(150))
  }

  @Test func `an interval that needs stillness ends once motion is possible, and with the good time of the last fix`() {
    func at(_ seconds: Double) -> MonotonicInstant { SchedulePlanTests.at(seconds) }
    let lead: SchedulePlan.Lead = { _, _ in .seconds(5) }
    var hours = Schedule(every: .seconds(20_000), accuracyMetres: 10, within: .seconds(45))
    hours.needsStillness = true
    for isLost in [false, true] {
      var plan = SchedulePlan()
      plan.add(1, SchedulePlanTests.minute, at: at(0))
      #expect(plan.advance(to: at(0), lead: lead) == [])
      for second in [1.0, 2] {
        _ = plan.receive(fix: at(second), radiusMetres: 5, isHeldByOthers: false, at: at(second))
      }
      #expect(plan.advance(to: at(2), lead: lead) == [.deliver(1, due: at(0), isMet: true)])
      plan.change(1, to: hours, at: at(2))
      // The fix is good for slightly less than the interval.
      plan.stand(1, until: at(19_999), at: at(2))
      #expect(plan.advance(to: at(2), lead: lead) == [] && plan.awake == [] && plan.due(of: 1) == at(19_999))
      // The motion sensor fails, or the fix has become too old. Both need a new fix at once.
      if isLost { plan.stand(1, until: nil, at: at(500)) } else { plan.stand(1, until: at(19_999), at: at(19_999)) }
      let effects = plan.advance(to: isLost ? at(500) : at(19_999), lead: lead)
      #expect(effects == (isLost ? [] : [.again(1, due: at(19_999))]))
      #expect(plan.awake == [1])
    }
  }

  @Test func `an interval that needs stillness wakes no device early, even if the fix is good for a shorter time`() {
    func at(_ seconds: Double) -> MonotonicInstant { SchedulePlanTests.at(seconds) }
    let lead: SchedulePlan.Lead = { _, _ in .seconds(5) }
    var hours = Schedule(every: .seconds(20_000), accuracyMetres: 10, within: .seconds(45))
    hours.needsStillness = true
    var plan = SchedulePlan()
    plan.add(1, hours, at: at(0))
    #expect(plan.advance(to: at(0), lead: lead) == [])
    for second in [1.0, 2] {
      _ = plan.receive(fix: at(second), radiusMetres: 5, isHeldByOthers: false, at: at(second))
    }
    // The clock began 1000 s earlier, so the multiples of the interval are 19000, 39000 and so on.
    plan.stand(1, until: at(30_000), at: at(2))
    #expect(plan.advance(to: at(2), lead: lead) == [.deliver(1, due: at(0), isMet: true)])
    #expect(plan.awake == [] && plan.due(of: 1) == at(19_000) && plan.nextInstant(lead: lead) == at(19_000))
    #expect(plan.advance(to: at(19_000), lead: lead) == [.again(1, due: at(19_000))])
    #expect(plan.awake == [] && plan.due(of: 1) == at(30_000))
    #expect(plan.advance(to: at(30_000), lead: lead) == [.again(1, due: at(30_000))])
    #expect(plan.awake == [1] && plan.due(of: 1) == at(30_000))
    // A fix that is good for less than the interval lets the devices sleep too.
    for second in [30_001.0, 30_002] {
      _ = plan.receive(fix: at(second), radiusMetres: 9, isHeldByOthers: false, at: at(second))
    }
    plan.stand(1, until: at(30_600), at: at(30_002))
    #expect(plan.nextWake(at: at(30_002), lead: lead) == nil)
    #expect(plan.advance(to: at(30_002), lead: lead) == [.deliver(1, due: at(30_000), isMet: true)])
    #expect(plan.awake == [] && plan.due(of: 1) == at(30_600))
  }

  @Test func `a fix that is delivered again keeps its time, and its sigma grows with each hour`() throws {
    let at = SchedulePlanTests.at(0)
    var state = FusedState(at: at + .seconds(1))
    #expect(ReusedFix(state) == nil)
    state.mode = .gnss
    state.fix = Dated(
      .init(mode: 3, status: 1, satellitesUsed: 8, hdop: 1, utcNanoseconds: nil), at: at, source: .gps)
    state.position = Dated(
      .init(
        latitudeDegrees: 52, longitudeDegrees: 13, altitudeHAEMetres: nil, altitudeMSLMetres: nil,
        horizontalSigmaMetres: 3, verticalSigmaMetres: 4), at: at, source: .gps)
    state.motion = Dated(
      .init(speedMetresPerSecond: 9, trackDegrees: 1, climbMetresPerSecond: 0), at: at, source: .gps)
    let fix = try #require(ReusedFix(state))
    let again = fix.state(at: at + .seconds(40 * 3600))
    #expect(again.mode == .asleep && again.motion == nil && again.at == at + .seconds(40 * 3600))
    #expect(again.position?.at == at && again.fix?.at == at)
    // The 4 m of 40 hours are added to the error in quadrature.
    #expect(abs((again.position?.value.horizontalSigmaMetres ?? 0) - 5) < 1e-9)
    #expect(abs((again.position?.value.verticalSigmaMetres ?? 0) - 32.0.squareRoot()) < 1e-9)
    let until = fix.isGoodUntil(Schedule(every: .seconds(60), accuracyMetres: 5 * Confidence.radial))
    #expect(abs(until.seconds(since: at) - 40 * 3600) < 1)
    #expect(fix.isGoodUntil(Schedule(every: .seconds(60), accuracyMetres: 1)) == at)
    #expect(fix.isGoodUntil(Schedule(every: .seconds(60))) > at + .seconds(1_000_000_000))
  }

  @Test(arguments: [(4.0, 20.0), (20.0, 4.0)])
  func `a wrong learned value is corrected within ten starts`(_ old: Double, _ new: Double) {
    var times = AcquisitionTimes()
    let grade = AcquisitionTimes.Grade(of: 10)
    func lead() -> Double { times.lead(to: grade, after: .hot, firstFixSeconds: nil) }
    #expect(lead() > 35)
    for _ in 0..<50 { times.add(old, to: grade, after: .hot) }
    #expect(abs(lead() - old) < 1)
    // A start that takes much longer is ignored.
    times.add(10 * old, to: grade, after: .hot)
    #expect(abs(lead() - old) < 1)
    for _ in 0..<10 { times.add(new, to: grade, after: .hot) }
    #expect(abs(lead() - new) < 1)
    #expect(times.lead(to: grade, after: .warm, firstFixSeconds: 30) > 30)
  }

  @Test func `each start teaches the time to every accuracy that it reached`() {
    var times = AcquisitionTimes()
    var trace = AcquisitionTrace(.warm, at: SchedulePlanTests.at(0))
    for (second, radius) in [(1.0, 200.0), (2, 90), (3, 90), (4, 18), (5, 4), (6, 3)] {
      trace.receive(
        fix: SchedulePlanTests.at(second), radiusMetres: radius, at: SchedulePlanTests.at(second), &times)
    }
    trace.settle(.init(of: 1), at: SchedulePlanTests.at(40), &times)
    func seconds(_ accuracy: Double?) -> [Double] { times.last(to: .init(of: accuracy), after: .warm) }
    #expect(seconds(nil) == [2] && seconds(150) == [2] && seconds(99) == [4] && seconds(20) == [4])
    #expect(seconds(12) == [5] && seconds(10) == [5] && seconds(5) == [5] && seconds(2) == [] && seconds(1) == [40])
    #expect(times.last(to: .any, after: .hot) == [])
    #expect(
      times.explanation == [
        "for scheduled fixes warm starts took 40 s to 1 m, 5 s to 5 m, 4 s to 20 m, 2 s to 100 m"
      ])
  }
}
