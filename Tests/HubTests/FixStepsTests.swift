import Fusion
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Hub

/// The order of the steps that wake receivers for scheduled fixes and release them.
struct FixStepsTests {
  private static let minute = Schedule(every: .seconds(60), accuracyMetres: 10, within: .seconds(45))

  private static func at(_ seconds: Double) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64((1200 + seconds) * 1e9))
  }

  /// Clients of a receiver that takes three seconds for a start.
  private final class Bench {
    var clients = FixClients()
    var steps = FixSteps()
    var hasMotionDetector = false
    /// The names of the subscriptions that were cancelled.
    let cancelled = Recorder<String>()

    private func leadTime(_ now: MonotonicInstant) -> FixLeadTime {
      var times = AcquisitionTimes()
      for _ in 0..<3 { times.add(3, to: .init(of: 10), after: .hot) }
      return FixLeadTime(now: now, restingSince: nil, times: times, restarts: RestartCosts())
    }

    func add(_ count: Int, _ schedule: Schedule = FixStepsTests.minute) {
      for _ in 0..<count { _ = clients.add(Holders(.client("log")), schedule, at: FixStepsTests.at(0)) }
    }

    /// Advances the clients to a time, at which wakes and fixes may be due.
    func advance(to seconds: Double) {
      let now = FixStepsTests.at(seconds)
      _ = clients.advance(to: now, lead: FixLeadTime.leads(leadTime(now)), lastKnown: nil)
    }

    /// Takes a good fix.
    func fix(at seconds: Double) {
      let now = FixStepsTests.at(seconds)
      var state = FusedState(at: now)
      state.position = Dated(
        .init(
          latitudeDegrees: 52, longitudeDegrees: 13, altitudeHAEMetres: nil, altitudeMSLMetres: nil,
          horizontalSigmaMetres: 1, verticalSigmaMetres: nil), at: now, source: .gps)
      steps.receiveFix(at: now)
      _ = clients.receive(state, fix: now, isHeldByOthers: false, at: now)
      advance(to: seconds)
    }

    func subscription(_ name: String) -> Subscription { Subscription { [cancelled] in cancelled.append(name) } }

    /// Returns the next step in words, and performs it, except for a wake. Once everything has ended, there is no lead
    /// time, as after the end of a hub.
    func next(at seconds: Double) -> String? {
      let now = FixStepsTests.at(seconds)
      let step = steps.next(
        for: &clients, at: now, leadTime: steps.isOver ? nil : leadTime(now), hasMotionDetector: hasMotionDetector)
      switch step {
      case nil: return nil
      case .deliver(let deliveries): return "deliver \(deliveries.map(\.id))"
      case .finish(let ids): return "finish \(ids)"
      case .watch(let id, let watch, _):
        clients.hold(subscription("motion"), for: id, as: watch)
        return "watch \(id)"
      case .name(let new, let notAnyMore): return "name \(new.map(\.id)), not \(notAnyMore)"
      case .listen:
        steps.hold(states: subscription("states"))
        return "listen"
      case .observe:
        steps.hold(epochs: subscription("epochs"))
        return "observe"
      case .wake: return "wake"
      case .release(let lease, let nextWake):
        lease.cancel()
        return "release" + (nextWake.map { " until \($0.seconds(since: FixStepsTests.at(0)).rounded())" } ?? "")
      case .end(let subscription):
        subscription.cancel()
        return "end"
      case .time(_, let setsTimer): return setsTimer ? "set the timer" : "report the wake"
      }
    }

    /// Performs steps until there is none, and returns them in words.
    func run(at seconds: Double) -> [String] {
      var all: [String] = []
      while let step = next(at: seconds) {
        all.append(step)
        if step == "wake" { steps.hold(lease: subscription("lease")) }
      }
      return all
    }
  }

  @Test func `all clients of a wake are named before receivers wake, and get their fixes before receivers sleep`() {
    let bench = Bench()
    bench.add(2)
    bench.advance(to: 0)
    #expect(bench.run(at: 0) == ["name [1, 2], not []", "listen", "wake", "set the timer"])
    bench.fix(at: 1)
    #expect(bench.run(at: 1) == [])
    bench.fix(at: 2)
    // The next fix is due a minute after zero, and the receiver needs three seconds and a margin.
    #expect(
      bench.run(at: 2) == ["deliver [1, 2]", "name [], not [1, 2]", "release until 57.0", "end", "set the timer"])
    #expect(bench.cancelled.values == ["lease", "states"])
  }

  @Test func `a client that comes or leaves during a wake changes only the names`() {
    let bench = Bench()
    bench.add(1)
    bench.advance(to: 0)
    _ = bench.run(at: 0)
    bench.add(1)
    bench.advance(to: 0)
    #expect(bench.run(at: 0) == ["name [2], not []"])
    bench.clients.remove(1)
    #expect(bench.run(at: 0) == ["name [], not [1]"])
    bench.clients.remove(2)
    #expect(bench.run(at: 0) == ["name [], not [2]", "release", "end", "set the timer"])
    #expect(bench.steps.timerInstant == nil)
  }

  @Test func `a timer that was replaced does nothing, and each timer counts once`() {
    let bench = Bench()
    bench.add(1)
    bench.advance(to: 0)
    _ = bench.run(at: 0)
    #expect(bench.steps.timerInstant == Self.at(45))
    let fired = [44.0, 45, 46].map { bench.steps.timerFired(at: Self.at($0)) }
    #expect(fired == [false, true, false])
    // The timer is set again even if the plan's next action has not changed.
    #expect(bench.run(at: 44) == ["set the timer"])
  }

  @Test func `one thread performs the steps, until there is none`() {
    let bench = Bench()
    bench.add(1)
    bench.advance(to: 0)
    let (first, second) = (bench.steps.begin(), bench.steps.begin())
    _ = bench.run(at: 0)
    let third = bench.steps.begin()
    #expect(first && !second && third)
  }

  @Test func `if everything ends while a thread wakes receivers, the lease ends too`() {
    let bench = Bench()
    bench.add(2)
    bench.advance(to: 0)
    let steps = (0..<3).map { _ in bench.next(at: 0) }
    #expect(steps == ["name [1, 2], not []", "listen", "wake"])
    bench.steps.end(at: Self.at(0))
    bench.steps.hold(lease: bench.subscription("lease"))
    #expect(bench.run(at: 0) == ["finish [1, 2]", "name [], not [1, 2]", "release", "release"])
    #expect(bench.cancelled.values == ["states", "lease"])
  }

  @Test func `the next wake is reported again to the devices of another board, and the timer stays`() {
    let bench = Bench()
    bench.add(1)
    bench.advance(to: 0)
    _ = bench.run(at: 0)
    for second in [1.0, 2] { bench.fix(at: second) }
    _ = bench.run(at: 2)
    bench.steps.boardHasChanged(hasOtherReceivers: true)
    #expect(bench.run(at: 3) == ["report the wake"])
  }

  @Test func `each client watches motion once per detector`() {
    let bench = Bench()
    bench.hasMotionDetector = true
    bench.add(2)
    #expect(bench.run(at: 0).filter { $0.hasPrefix("watch") } == ["watch 1", "watch 2"])
    bench.clients.unwatch()
    #expect(bench.run(at: 0) == ["end", "end", "watch 1", "watch 2"])
    #expect(bench.cancelled.values == ["motion", "motion"])
  }

  @Test func `after two hours receivers stay on for ephemerides, at the expense of the last clients`() {
    let bench = Bench()
    let rare = Schedule(every: .seconds(1200), accuracyMetres: 10, within: .seconds(45))
    bench.add(1, rare)
    bench.advance(to: 0)
    _ = bench.run(at: 0)
    for second in [1.0, 2] { bench.fix(at: second) }
    #expect(bench.run(at: 2).contains("release until 1197.0"))
    bench.advance(to: 7200)
    #expect(bench.run(at: 7200) == ["name [1], not []", "listen", "wake", "set the timer"])
    for second in [7201.0, 7202] { bench.fix(at: second) }
    #expect(bench.run(at: 7202) == ["deliver [1]", "set the timer"])
    #expect(bench.steps.isCollecting(for: 1) && bench.steps.timerInstant == Self.at(7237))
    let isDue = bench.steps.timerFired(at: Self.at(7237))
    #expect(isDue && bench.run(at: 7237) == ["name [], not [1]", "release until 8397.0", "end", "set the timer"])
    #expect(!bench.steps.isCollecting(for: 1))
  }

  /// A client that has searched without a fix for a quarter of an hour, and the steps of that time.
  private static func paused() -> (Bench, [String]) {
    let bench = Bench()
    bench.add(1, ErrorBound(metres: 25, within: .seconds(60)).schedule)
    var steps: [String] = []
    for second in 0...960 {
      bench.advance(to: Double(second))
      steps += bench.run(at: Double(second))
    }
    return (bench, steps)
  }

  @Test func `while a client pauses its search, the epochs of receivers that are awake for others are observed`() {
    let (bench, steps) = Self.paused()
    #expect(steps.filter { $0 == "observe" }.count == 1 && bench.cancelled.values == ["lease", "states"], "\(steps)")
    // The next search begins after five minutes.
    bench.advance(to: 1300)
    let next = bench.run(at: 1300)
    #expect(next == ["name [1], not []", "listen", "wake", "end", "set the timer"])
    #expect(bench.cancelled.values == ["lease", "states", "epochs"])
  }

  @Test func `the observation of epochs ends with its client, and with the hub`() {
    let (left, _) = Self.paused()
    left.clients.remove(1)
    _ = left.run(at: 961)
    #expect(left.cancelled.values == ["lease", "states", "epochs"])
    let (ended, _) = Self.paused()
    ended.steps.end(at: Self.at(961))
    #expect(ended.run(at: 961).contains("finish [1]"))
    #expect(ended.cancelled.values == ["lease", "states", "epochs"])
  }
}
