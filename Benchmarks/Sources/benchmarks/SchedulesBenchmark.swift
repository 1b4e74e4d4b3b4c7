import Guarding
import Hub
import MonotonicTime
import NMEA
import Publishing

/// The energy of scheduled fixes with a whole hub that learns how early to wake its receiver, on a simulated clock.
/// It is compared with the optimum, which knows the duration of each start, and with staying on.
struct SchedulesBenchmark {
  /// The result of a demand.
  private final class Outcome: Sendable {
    struct Counts {
      var fixes = 0
      /// The number of fixes of the requested accuracy that were at most a second late.
      var onTime = 0
      /// How often a fence had no fix in time, and how often it considered the boat to have left.
      var blind = 0
      var left = 0
    }

    private let state = Guarded(Counts())

    var counts: Counts { state.withLock { $0 } }

    func note(_ fix: RequestedFix, at now: MonotonicInstant) {
      state.withLock { counts in
        counts.fixes += 1
        if fix.isMet, now.seconds(since: fix.due) <= 1 { counts.onTime += 1 }
      }
    }

    func note(_ event: FenceStatus.Event?) {
      state.withLock { counts in
        if event == .lost { counts.blind += 1 }
        if event == .leave { counts.left += 1 }
      }
    }
  }

  /// Prints a line for each demand. Returns the lines with a known optimum.
  func run() -> [PowerBenchmark.Line] {
    PowerReceiver.all.flatMap { receiver in
      ScheduledDemand.all.compactMap { measure($0, receiver) }
    }
  }

  /// The energy of all devices for a demand, in joules; `nil` if the board file is wrong.
  func joules(_ demand: ScheduledDemand, _ receiver: PowerReceiver) -> Double? { pass(demand, receiver)?.joules }

  /// Runs a hub for the time of a demand.
  private func pass(_ demand: ScheduledDemand, _ receiver: PowerReceiver) -> (joules: Double, counts: Outcome.Counts)? {
    let name = demand.name + receiver.name
    guard let bench = ScheduledHub(demand, receiver) else {
      print("\(name): the board file is wrong")
      return nil
    }
    let outcome = Outcome()
    let lifetime = Lifetime()
    var fenceMonitor: FenceMonitor?
    if let metres = demand.fenceMetres {
      fenceMonitor = fence(metres, bench.clock, outcome)
      fenceMonitor?.begin(on: bench.hub)
    } else if let schedule = demand.schedule {
      bench.hub.fixes(on: schedule).subscribe(
        as: "tracker",
        receiveValue: { [clock = bench.clock] fix in outcome.note(fix, at: clock.now) }
      ).store(in: lifetime)
    }
    bench.pass(seconds: demand.seconds)
    let joules = bench.joules
    lifetime.end()
    fenceMonitor?.end()
    bench.end()
    return (joules, outcome.counts)
  }

  private func measure(_ demand: ScheduledDemand, _ receiver: PowerReceiver) -> PowerBenchmark.Line? {
    let name = demand.name + receiver.name
    guard let (joules, counts) = pass(demand, receiver) else { return nil }
    let optimum = demand.optimum(receiver)
    let known = optimum.map { "learned \(fixed(joules / $0, 3)), optimum 1 (\(fixed($0, 0)) J), " } ?? ""
    let share = fixed(joules / (PowerReceiver.watts * demand.seconds), 4)
    let end =
      demand.schedule == nil
      ? "blind: \(counts.blind), left: \(counts.left)"
      : "\(counts.onTime) of \(demand.fixCount ?? counts.fixes) fixes on time"
        + (demand.attainableCount(receiver).map { ", \($0) starts are short enough" } ?? "")
    print("\(name): \(known)\(share) of always on (\(fixed(joules, 0)) J), \(end)")
    return optimum.map {
      PowerBenchmark.Line(name: name, isPatterned: false, optimum: $0, ratios: [joules / $0])
    }
  }

  private func fence(_ metres: Double, _ clock: ManualClock, _ outcome: Outcome) -> FenceMonitor? {
    let anchor = Coordinate(latitudeDegrees: 52.5, longitudeDegrees: 13.4)
    guard let area = try? FenceArea(circleAbout: anchor, radiusMetres: metres) else { return nil }
    let settings = FenceSettings(name: "anchor", area: area, grace: .seconds(20))
    return FenceMonitor(settings, clock: clock) { outcome.note($0.event) }
  }
}
