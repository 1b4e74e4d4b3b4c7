import Fusion
import MonotonicTime
import Publishing
import Testing

@testable import Hub

/// The fix that each client with scheduled fixes gets, and when it needs a new one.
struct FixClientsTests {
  private static let minute = Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45))
  private static let holders = Holders(.client("log[7]"))

  private static func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64((1200 + seconds) * 1e9))
  }

  /// A state with a fix.
  private static func state(at seconds: Double, radiusMetres: Double = 5) -> FusedState {
    var state = FusedState(at: at(seconds))
    state.mode = .gnss
    state.fix = Dated(
      .init(mode: 3, status: 1, satellitesUsed: 8, hdop: 1, utcNanoseconds: nil), at: at(seconds), source: .gps)
    state.position = Dated(
      .init(
        latitudeDegrees: 52, longitudeDegrees: 13, altitudeHAEMetres: nil, altitudeMSLMetres: nil,
        horizontalSigmaMetres: radiusMetres / Confidence.radial, verticalSigmaMetres: nil), at: at(seconds),
      source: .gps)
    return state
  }

  /// A client that got a good fix at zero on a board that has stood since `stillSince`.
  private static func client(_ schedule: Schedule, stillSince: Double) -> FixClient {
    var client = FixClient(holders, schedule)
    client.keep(state(at: 0))
    _ = client.takeFix(due: at(0), isMet: true, degraded: nil, at: at(1))
    _ = client.motion.receive(.still(since: at(stillSince)))
    return client
  }

  @Test(arguments: [(59.0, false), (60, true)])
  func `only a board that moves after it stood for a minute needs a fix at once`(_ stood: Double, _ isNeeded: Bool) {
    var motion = ClientMotion()
    let reports: [MotionState] = [.still(since: Self.at(0)), .moved(at: Self.at(stood)), .moved(at: Self.at(500))]
    let needs = reports.map { motion.receive($0) }
    #expect(needs == [false, isNeeded, false] && motion.hasMoved)
  }

  @Test func `the last fix is repeated if the board has stood since then and no receiver is awake`() throws {
    var client = Self.client(Self.minute, stillSince: -10)
    let until = client.stands(Self.minute, hasGoodFix: false, lastKnown: nil, isReceiverAwake: false)
    #expect(try #require(until) > Self.at(3600))
    let whileAwake = client.stands(Self.minute, hasGoodFix: false, lastKnown: nil, isReceiverAwake: true)
    #expect(whileAwake == nil)
    let again = try #require(client.fixAgain(due: Self.at(60), degraded: nil, at: Self.at(61)))
    #expect(again.isStill && again.isMet && again.state.at == Self.at(61) && again.state.position?.at == Self.at(0))
    var moved = Self.client(Self.minute, stillSince: 10)
    let untilAfterMotion = moved.stands(Self.minute, hasGoodFix: false, lastKnown: nil, isReceiverAwake: false)
    #expect(untilAfterMotion == nil)
    // The machine was suspended, so the last fix says nothing about the present place.
    client.resume()
    let untilAfterSuspend = client.stands(Self.minute, hasGoodFix: false, lastKnown: nil, isReceiverAwake: false)
    #expect(untilAfterSuspend == nil && client.fixAgain(due: Self.at(60), degraded: nil, at: Self.at(61)) == nil)
  }

  @Test(arguments: [false, true])
  func `of a known fix and the last one, the client gets the one that is good for longer`(_ isKnownLonger: Bool) throws
  {
    var schedule = Self.minute
    schedule.maxAge = .seconds(isKnownLonger ? 3600 * 24 * 365 : 100)
    var client = Self.client(schedule, stillSince: -10)
    let lastKnown = Self.state(at: 30)
    let until = client.stands(schedule, hasGoodFix: false, lastKnown: lastKnown, isReceiverAwake: false)
    #expect(try #require(until) > Self.at(3600) && (client.known != nil) == isKnownLonger)
    let again = try #require(client.fixAgain(due: Self.at(60), degraded: nil, at: Self.at(61)))
    #expect(again.isKnown == isKnownLonger && again.isStill != isKnownLonger)
    #expect(again.state.position?.at == Self.at(isKnownLonger ? 30 : 0))
    // A known fix costs nothing even if a receiver is awake.
    let whileAwake = client.stands(schedule, hasGoodFix: false, lastKnown: lastKnown, isReceiverAwake: true)
    #expect(whileAwake == Self.at(30) + (schedule.maxAge ?? .zero) && client.known != nil)
    let poor = client.stands(
      schedule, hasGoodFix: false, lastKnown: Self.state(at: 30, radiusMetres: 11), isReceiverAwake: true)
    #expect(poor == nil && client.known == nil)
  }

  @Test func `a dead-reckoned position is not a known fix, however new it is`() {
    var schedule = Self.minute
    (schedule.accuracyMetres, schedule.maxAge) = (nil, .seconds(60))
    var client = FixClient(Self.holders, schedule)
    var reckoned = Self.state(at: 30, radiusMetres: 400)
    reckoned.mode = .deadReckoning
    reckoned.fix = nil
    let until = client.stands(schedule, hasGoodFix: false, lastKnown: reckoned, isReceiverAwake: false)
    #expect(until == nil && client.known == nil)
  }

  @Test func `a fix that is good enough only for the degraded request is not delivered as a good one`() {
    var client = FixClient(Self.holders, Self.minute)
    var degraded = Self.minute
    degraded.accuracyMetres = 25
    client.keep(Self.state(at: 0, radiusMetres: 20))
    let fix = client.takeFix(due: Self.at(2), isMet: true, degraded: degraded, at: Self.at(2))
    #expect(!fix.isMet && fix.degraded == degraded && fix.schedule == Self.minute && fix.state.at == Self.at(2))
    // The kept fix is delivered once.
    let none = client.takeFix(due: Self.at(62), isMet: false, degraded: nil, at: Self.at(62))
    #expect(!none.isMet && none.state.position == nil)
  }

  @Test func `only a good fix since which a motion sensor has detected nothing counts as that of a standing board`() {
    let reports: [(MotionState, isMet: Bool, isStanding: Bool)] = [
      (.still(since: Self.at(-10)), true, true), (.still(since: Self.at(-10)), false, false),
      (.still(since: Self.at(1)), true, false), (.moved(at: Self.at(-10)), true, false), (.unknown, true, false),
    ]
    for (report, isMet, isStanding) in reports {
      var client = FixClient(Self.holders, Self.minute)
      client.keep(Self.state(at: 0))
      _ = client.motion.receive(report)
      let fix = client.takeFix(due: Self.at(0), isMet: isMet, degraded: nil, at: Self.at(2))
      #expect(fix.isStanding == isStanding && !fix.isStill, "\(report), \(isMet)")
    }
  }

  @Test(arguments: [MotionState.unknown, .moved(at: at(500)), .still(since: at(500))])
  func `an interval that needs stillness survives a receiver that is awake, and ends with stillness`(
    _ report: MotionState
  ) throws {
    let lead: SchedulePlan.Lead = { _, _ in .zero }
    var hours = Schedule(every: .seconds(20_000), accuracyMetres: 10, within: .seconds(45))
    hours.needsStillness = true
    var clients = FixClients()
    let id = clients.add(Self.holders, hours, at: Self.at(0))
    let next = clients.nextWatch()
    let watch = try #require(next)
    var isKnown = clients.receive(.still(since: Self.at(-10)), for: id, by: watch.watch, at: Self.at(0))
    _ = clients.advance(to: Self.at(0), lead: lead, lastKnown: nil)
    for second in [1.0, 2] {
      _ = clients.receive(
        Self.state(at: second), fix: Self.at(second), isHeldByOthers: false, at: Self.at(second))
    }
    _ = clients.advance(to: Self.at(2), lead: lead, lastKnown: nil)
    let first = clients.takeDeliveries()
    #expect(isKnown && first?.map(\.fix.isStanding) == [true] && clients.plan.awake == [])
    let due = clients.plan.due(of: id)
    // A receiver is awake for another client.
    for second in [100.0, 200] {
      _ = clients.advance(to: Self.at(second), lead: lead, lastKnown: nil, isReceiverAwake: true)
      #expect(clients.plan.awake == [] && clients.plan.due(of: id) == due)
    }
    // The chip reports another state, for example because another client begins to use it.
    isKnown = clients.receive(report, for: id, by: watch.watch, at: Self.at(500))
    _ = clients.advance(to: Self.at(500), lead: lead, lastKnown: nil)
    #expect(isKnown && clients.plan.awake == [id] && clients.plan.due(of: id) == Self.at(500))
  }

  @Test func `a fix that is due is new if a receiver is awake, also on a standing board`() throws {
    let lead: SchedulePlan.Lead = { _, _ in .zero }
    var hours = Schedule(every: .seconds(20_000), accuracyMetres: 10, within: .seconds(45))
    hours.needsStillness = true
    var clients = FixClients()
    let id = clients.add(Self.holders, hours, at: Self.at(0))
    let next = clients.nextWatch()
    let watch = try #require(next)
    _ = clients.receive(.still(since: Self.at(-10)), for: id, by: watch.watch, at: Self.at(0))
    _ = clients.advance(to: Self.at(0), lead: lead, lastKnown: nil)
    for second in [1.0, 2] {
      _ = clients.receive(
        Self.state(at: second), fix: Self.at(second), isHeldByOthers: false, at: Self.at(second))
    }
    _ = clients.advance(to: Self.at(2), lead: lead, lastKnown: nil)
    let due = try #require(clients.plan.due(of: id))
    _ = clients.advance(to: due, lead: lead, lastKnown: nil, isReceiverAwake: true)
    #expect(clients.plan.awake == [id])
  }

  @Test func `fixes are delivered in the order of arrival, without those of clients that have left`() throws {
    let lead: SchedulePlan.Lead = { _, _ in .zero }
    var clients = FixClients()
    let ids = (0..<3).map { _ in clients.add(Self.holders, Self.minute, at: Self.at(0)) }
    var effects = clients.advance(to: Self.at(0), lead: lead, lastKnown: nil)
    #expect(effects == [] && clients.plan.awake == ids)
    effects = [1.0, 2].flatMap { second in
      clients.receive(Self.state(at: second), fix: Self.at(second), isHeldByOthers: false, at: Self.at(second))
    }
    #expect(effects == Array(repeating: .settled(AcquisitionTimes.Grade(of: 10)), count: 3))
    effects = clients.advance(to: Self.at(2), lead: lead, lastKnown: nil)
    clients.remove(ids[1])
    let (taken, none) = (clients.takeDeliveries(), clients.takeDeliveries())
    let deliveries = try #require(taken)
    #expect(effects == [] && deliveries.map(\.id) == [ids[0], ids[2]])
    #expect(deliveries.allSatisfy { $0.fix.isMet && $0.fix.due == Self.at(0) && $0.fix.state.at == Self.at(2) })
    #expect(none == nil)
  }

  @Test func `a report of an earlier subscription to motion counts no more, and the subscription ends`() throws {
    var clients = FixClients()
    let id = clients.add(Self.holders, Self.minute, at: Self.at(0))
    let (one, none) = (clients.nextWatch(), clients.nextWatch())
    let first = try #require(one)
    #expect(first.id == id && none == nil)
    // Another board comes while a thread subscribes.
    clients.unwatch()
    let (early, outdated) = (clients.takeUnwatched(), Subscription {})
    clients.hold(outdated, for: id, as: first.watch)
    let ended = clients.takeUnwatched()
    #expect(early == nil && ended === outdated)
    let other = clients.nextWatch()
    let second = try #require(other)
    let isOldTaken = clients.receive(.moved(at: Self.at(1)), for: id, by: first.watch, at: Self.at(1))
    let isNewTaken = clients.receive(.moved(at: Self.at(1)), for: id, by: second.watch, at: Self.at(1))
    #expect(!isOldTaken && isNewTaken)
    let held = Subscription {}
    clients.hold(held, for: id, as: second.watch)
    clients.remove(id)
    let last = clients.takeUnwatched()
    #expect(last === held)
  }
}
