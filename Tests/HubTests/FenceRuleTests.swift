import Fusion
import Glibc
import MonotonicTime
import NMEA
import TestSupport
import Testing

@testable import Hub

/// The side of a fence on which the board is believed to be, and the time of the next fix.
struct FenceRuleTests {
  private static let centre = Coordinate(latitudeDegrees: 54.4, longitudeDegrees: 10.2)

  private static func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64((1000 + seconds) * 1e9))
  }

  /// A fix in metres north and east of the centre.
  private static func fix(
    _ north: Double, _ east: Double = 0, sigma: Double = 1.5, speed: Double? = nil, at seconds: Double
  ) -> FenceFix {
    let place = GeodeticPosition(
      latitudeDegrees: centre.latitudeDegrees, longitudeDegrees: centre.longitudeDegrees, altitude: 0
    ).moved(by: SIMD3(north, east, 0))
    return FenceFix(
      place: .init(latitudeDegrees: place.latitudeDegrees, longitudeDegrees: place.longitudeDegrees),
      sigmaMetres: sigma, speedMetresPerSecond: speed, at: at(seconds))
  }

  /// A rule for a circle of 40 m with twenty seconds of grace.
  private final class Rule {
    private(set) var rule: FenceRule

    init(radius: Double = 40, grace: Duration = .seconds(20), rememberedSide side: FenceStatus.State? = nil) throws {
      let area = try FenceArea(circleAbout: FenceRuleTests.centre, radiusMetres: radius)
      rule = FenceRule(
        FenceSettings(name: "anchor", area: area, grace: grace), rememberedSide: side, at: FenceRuleTests.at(0))
    }

    var status: FenceStatus { rule.status }
    var interval: Duration { rule.interval }
    var blindAt: MonotonicInstant? { rule.blindAt }

    func receive(_ fix: FenceFix?, at now: MonotonicInstant) -> FenceStatus.Event? { rule.receive(fix, at: now) }

    func lookForLate(at now: MonotonicInstant) -> FenceStatus.Event? { rule.lookForLate(at: now) }
  }

  private static func rule() throws -> Rule { try Rule() }

  /// Returns a rule that has found the board inside, two seconds after its start.
  private static func settled() throws -> Rule {
    let rule = try rule()
    #expect(rule.receive(fix(5, at: 1), at: at(1)) == nil && rule.status.state == .unknown)
    #expect(rule.receive(fix(5, at: 2), at: at(2)) == .found && rule.status.state == .inside)
    return rule
  }

  @Test func `the first fixes show on which side the board is, and count as no event`() throws {
    _ = try Self.settled()
    let outside = try Self.rule()
    #expect(outside.receive(Self.fix(90, at: 1), at: Self.at(1)) == nil)
    #expect(outside.receive(Self.fix(90, at: 2), at: Self.at(2)) == .found && outside.status.state == .outside)
  }

  @Test func `a board that left while there were no fixes has left once fixes come again`() throws {
    let rule = try Rule(rememberedSide: .inside)
    #expect(rule.status.state == .unknown)
    #expect(rule.receive(Self.fix(90, at: 1), at: Self.at(1)) == nil)
    #expect(rule.receive(Self.fix(90, at: 2), at: Self.at(2)) == .leave && rule.status.state == .outside)
    let still = try Rule(rememberedSide: .inside)
    #expect(still.receive(Self.fix(5, at: 1), at: Self.at(1)) == .found && still.status.state == .inside)
  }

  @Test func `two accurate fixes in a row are believed, a single outlier is not`() throws {
    let rule = try Self.settled()
    #expect(rule.receive(Self.fix(500, at: 60), at: Self.at(60)) == nil)
    // While the side is in doubt, the rule requests fixes at the shortest interval.
    #expect(rule.interval == .seconds(1))
    #expect(rule.receive(Self.fix(6, at: 61), at: Self.at(61)) == nil && rule.status.state == .inside)
    #expect(rule.receive(Self.fix(500, at: 120), at: Self.at(120)) == nil)
    #expect(rule.receive(Self.fix(41, at: 121), at: Self.at(121)) == nil)
    #expect(rule.receive(Self.fix(50, at: 122), at: Self.at(122)) == nil && rule.status.state == .inside)
    #expect(rule.receive(Self.fix(51, at: 123), at: Self.at(123)) == .leave)
    #expect(rule.status.state == .outside && rule.status.since == Self.at(123))
    #expect(rule.receive(Self.fix(30, at: 140), at: Self.at(140)) == nil)
    #expect(rule.receive(Self.fix(30, at: 141), at: Self.at(141)) == .enter && rule.status.state == .inside)
  }

  @Test func `a place slightly beyond the edge is believed after the grace`() throws {
    let rule = try Self.settled()
    for second in 100..<120 {
      #expect(rule.receive(Self.fix(42, at: Double(second)), at: Self.at(Double(second))) == nil)
    }
    #expect(rule.receive(Self.fix(42, at: 120), at: Self.at(120)) == .leave)
    // A board that returns over the edge for a moment gets a new grace period.
    #expect(rule.receive(Self.fix(39, at: 130), at: Self.at(130)) == nil)
    #expect(rule.receive(Self.fix(41, at: 145), at: Self.at(145)) == nil)
    #expect(rule.receive(Self.fix(39, at: 146), at: Self.at(146)) == nil && rule.status.state == .outside)
  }

  @Test func `a fix that is too inaccurate shows no side, unless it is far enough from the edge`() throws {
    let rule = try Self.settled()
    // The accuracy is 24.5 m, where 20 m are required.
    #expect(rule.receive(Self.fix(45, sigma: 10, at: 50), at: Self.at(50)) == nil)
    #expect(rule.receive(Self.fix(45, sigma: 10, at: 95), at: Self.at(95)) == .lost)
    #expect(rule.status.state == .unknown && rule.status.since == Self.at(95))
    #expect(rule.receive(Self.fix(300, sigma: 10, at: 100), at: Self.at(100)) == nil)
    #expect(rule.receive(Self.fix(300, sigma: 10, at: 101), at: Self.at(101)) == .leave)
  }

  @Test
  func
    `without a fix in time, a fence reports the loss once, retries at growing intervals, and reports the end of the loss`()
    throws
  {
    let rule = try Self.settled()
    let due = Self.at(2) + rule.interval
    let blindAt = try #require(rule.blindAt)
    #expect(blindAt == due + .seconds(20))
    #expect(rule.lookForLate(at: blindAt + .milliseconds(-1)) == nil)
    #expect(rule.lookForLate(at: blindAt) == .lost && rule.lookForLate(at: blindAt + .seconds(1)) == nil)
    #expect(rule.blindAt == nil)
    var now = due + .seconds(55)
    var tries: [Duration] = []
    for _ in 0..<6 {
      #expect(rule.receive(nil, at: now) == nil)
      tries.append(rule.interval)
      now = now + rule.interval
    }
    #expect(tries == [.seconds(55), .seconds(110), .seconds(220), .seconds(440), .seconds(600), .seconds(600)])
    #expect(rule.receive(Self.fix(5, at: 9000), at: Self.at(9000)) == .found && rule.status.state == .inside)
    // The loss is also reported if there was no fix at all.
    let blind = try Self.rule()
    #expect(blind.lookForLate(at: Self.at(79)) == nil && blind.lookForLate(at: Self.at(80)) == .lost)
  }

  @Test func `with a grace of a second, a fix that comes a few seconds late is in time`() throws {
    let rule = try Rule(grace: .seconds(1))
    #expect(rule.receive(Self.fix(5, at: 1), at: Self.at(1)) == nil)
    #expect(rule.lookForLate(at: Self.at(7)) == nil)
    #expect(rule.receive(Self.fix(5, at: 8), at: Self.at(8)) == .found)
    let due = Self.at(8) + rule.interval
    #expect(rule.blindAt == due + .seconds(10) && rule.lookForLate(at: due + .seconds(9)) == nil)
    #expect(rule.lookForLate(at: due + .seconds(10)) == .lost)
  }

  @Test func `the next fix is due half a grace after the board could reach the edge`() throws {
    let rule = try Self.settled()
    func interval(_ metres: Double, sigma: Double = 2, speed: Double? = nil) -> Double {
      _ = rule.receive(Self.fix(metres, sigma: sigma, speed: speed, at: 100), at: Self.at(100))
      return rule.interval.inSeconds
    }
    // The edge is 35 m away. Less the error of 4.9 m, that takes 60 s at 0.5 m/s, and half of the grace is 10 s.
    #expect(interval(5) == 70)
    #expect(interval(5, speed: 0.3) == 70 && interval(5, speed: 3) == 20)
    #expect(interval(30) == 20 && interval(38) == 10 && interval(30, sigma: 6) == 10)
    // A fix that came 40 s early was held until now, so it is that old. If nothing has moved since, it is as good as
    // new.
    _ = rule.receive(Self.fix(5, sigma: 2, at: 100), at: Self.at(140))
    #expect(rule.interval == .seconds(30))
    _ = rule.receive(Self.fix(5, sigma: 2, at: 100), at: Self.at(200))
    #expect(rule.interval == .seconds(1))
    var still = Self.fix(5, sigma: 2, at: 100)
    still.isStill = true
    _ = rule.receive(still, at: Self.at(8000))
    #expect(rule.interval == .seconds(70))
    let far = try Self.rule()
    _ = far.receive(Self.fix(5000, at: 1), at: Self.at(1))
    _ = far.receive(Self.fix(5000, at: 2), at: Self.at(2))
    #expect(far.interval == .seconds(600))
    // Far from the edge, a less accurate fix is enough.
    #expect(abs((far.rule.schedule.accuracyMetres ?? 0) - 2480) < 1 && rule.rule.schedule.accuracyMetres == 20)
  }

  @Test func `a fix that is accurate as requested but too inaccurate for its place is followed by a better one`() throws
  {
    let rule = try Rule(radius: 5000)
    for second in [1.0, 2] { _ = rule.receive(Self.fix(0, at: second), at: Self.at(second)) }
    #expect(rule.status.state == .inside && abs((rule.rule.schedule.accuracyMetres ?? 0) - 2500) < 1)
    // The fix is accurate to 490 m (95 %), and 200 m from the edge.
    #expect(rule.receive(Self.fix(4800, sigma: 200, at: 600), at: Self.at(600)) == nil)
    #expect(rule.interval == .seconds(1) && rule.rule.schedule.accuracyMetres == 20)
    #expect(rule.receive(Self.fix(4800, sigma: 6, at: 603), at: Self.at(603)) == nil)
    #expect(rule.status.state == .inside && abs((rule.rule.schedule.accuracyMetres ?? 0) - 100) < 1)
    // If the next fix is no better, the fix counts as missing.
    #expect(rule.receive(Self.fix(4950, sigma: 30, at: 983), at: Self.at(983)) == nil)
    #expect(rule.interval == .seconds(1) && rule.rule.schedule.accuracyMetres == 20)
    #expect(rule.receive(Self.fix(4950, sigma: 30, at: 984), at: Self.at(984)) == nil)
    #expect(rule.interval == .seconds(30) && rule.rule.schedule.accuracyMetres == 20)
  }

  /// A boat on 15 m of chain in gusts from changing directions, with a receiver whose error drifts.
  private struct Night {
    var chance: SeededRandom
    var wander = SIMD2<Double>.zero
    let phases: [Double]

    init(_ seed: UInt64) {
      var chance = SeededRandom(seed: seed)
      phases = (0..<4).map { _ in .random(in: 0...6.28, using: &chance) }
      self.chance = chance
    }

    private mutating func noise() -> SIMD2<Double> {
      let radius = (-2 * log(Double.random(in: 1e-12..<1, using: &chance))).squareRoot()
      let angle = Double.random(in: 0...(2 * .pi), using: &chance)
      return SIMD2(radius * cos(angle), radius * sin(angle))
    }

    func truth(_ seconds: Double, dragging: Double) -> SIMD2<Double> {
      let angle = 2.5 * sin(seconds / 7000 + phases[0]) + 0.5 * sin(seconds / 90 + phases[1])
      let length = 13 + 2 * sin(seconds / 200 + phases[2]) + 0.5 * dragging
      return SIMD2(length * cos(angle), length * sin(angle))
    }

    /// A fix with a standard deviation of 1.5 m along each axis, most of which persists for minutes.
    mutating func fix(_ seconds: Double, after interval: Double, dragging: Double) -> FenceFix {
      let memory = exp(-interval / 120)
      wander = wander * memory + noise() * (1.3 * (1 - memory * memory).squareRoot())
      let place = truth(seconds, dragging: dragging) + wander + noise() * 0.75
      return FenceRuleTests.fix(
        place.x, place.y, speed: abs(0.1 + 0.1 * noise().x) + (dragging > 0 ? 0.5 : 0), at: seconds)
    }
  }

  @Test func `a boat that swings for eight hours causes no event, and one that drags is noticed within the grace`()
    throws
  {
    var chance = SeededRandom(seed: 14)
    var fixes = 0
    for _ in 0..<40 {
      var night = Night(chance.next())
      let rule = try Self.rule()
      var (now, events): (Double, [FenceStatus.Event]) = (0, [])
      let dragsAt = 8 * 3600 + Double.random(in: 0...300, using: &chance)
      while now < dragsAt {
        now += rule.interval.inSeconds
        fixes += 1
        if let event = rule.receive(
          night.fix(now, after: rule.interval.inSeconds, dragging: max(0, now - dragsAt)), at: Self.at(now))
        {
          events.append(event)
        }
      }
      #expect(events == [.found])
      func distance(_ seconds: Double) -> Double {
        let place = night.truth(seconds, dragging: max(0, seconds - dragsAt))
        return (place * place).sum().squareRoot()
      }
      while events.count < 2, now < dragsAt + 600 {
        now += rule.interval.inSeconds
        if let event = rule.receive(
          night.fix(now, after: rule.interval.inSeconds, dragging: now - dragsAt), at: Self.at(now))
        {
          events.append(event)
        }
      }
      #expect(events == [.found, .leave])
      var crossing = dragsAt
      while distance(crossing) < 40 { crossing += 0.1 }
      #expect(now - crossing <= 20, "noticed after \(now - crossing) s")
    }
    // The rule needs less than a fortieth of the fixes of a watch with one fix a second.
    #expect(fixes < 40 * 8 * 3600 / 40, "\(fixes)")
  }
}
