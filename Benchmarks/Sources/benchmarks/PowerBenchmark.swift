import Glibc
import Hub

/// Compares learned idle timeouts with the optimum, which knows the next visit in advance. Runs a week of each
/// demand, gap by gap, with the type that the hub uses. The cost of the visits themselves is the same for all
/// policies and is left out. Then measures scheduled fixes with a whole hub, and prints the energy of five different days.
struct PowerBenchmark {
  /// The file for the plot; `nil` for none.
  let plot: String?

  private enum Policy: CaseIterable {
    case learned
    /// Ten seconds, the former value of the board files.
    case fixed
    /// The average time of a hot start. Staying on for this time costs as much as the start.
    case classical
  }

  struct Line {
    var name: String
    var isPatterned: Bool
    /// The energy of the optimum in joules, and the ratio to it for each policy.
    var optimum: Double
    var ratios: [Double]
  }

  func run() {
    var lines: [Line] = []
    for receiver in PowerReceiver.all {
      // Both policies get the same week.
      var chance = SplitMix(seed: 14)
      for demand in PowerDemand.all(&chance) {
        let results = Policy.allCases.map { simulate($0, demand, receiver) }
        let line = Line(
          name: demand.name + receiver.name, isPatterned: demand.isPatterned, optimum: results[0].optimum,
          ratios: results.map { $0.joules / $0.optimum })
        lines.append(line)
        print(
          "\(line.name): learned \(fixed(line.ratios[0], 3)), fixed 10 s \(fixed(line.ratios[1], 3)), "
            + "classical \(fixed(line.ratios[2], 3)), optimum 1 (\(fixed(line.optimum, 0)) J)")
      }
    }
    let schedules = SchedulesBenchmark().run()
    PowerDaysBenchmark().run()
    if let plot, !chart(of: lines + schedules).write(to: plot) { print("\(plot) cannot be written") }
    let patterned = lines.filter(\.isPatterned)
    let worst = (lines + schedules).map { $0.ratios[0] }.max() ?? 0
    func mean(_ policy: Int) -> Double { patterned.reduce(0) { $0 + $1.ratios[policy] } / Double(patterned.count) }
    print(
      "power: learned \(fixed(mean(0), 3)) of the optimum in the mean, worst \(fixed(worst, 3)); "
        + "fixed \(fixed(mean(1), 3))")
  }

  /// The energy of each policy, as a multiple of the optimum's.
  private func chart(of lines: [Line]) -> BarChart {
    let series = [
      BarChart.Series(name: "learned", colour: "#2a7de1"), BarChart.Series(name: "fixed 10 s", colour: "#b0b0b0"),
      BarChart.Series(name: "classical bound", colour: "#e1a02a"),
    ]
    let panel = BarChart.Panel(marks: [1, 1.25, 2, 3], most: 3, width: 420)
    let rows = lines.map { BarChart.Row(name: $0.name, values: [$0.ratios]) }
    return BarChart(series: series, panels: [panel], rows: rows)
  }

  private func simulate(
    _ policy: Policy, _ demand: PowerDemand, _ receiver: PowerReceiver
  ) -> (joules: Double, optimum: Double) {
    let costs = LearnedIdleTimeout.Costs(watts: PowerReceiver.watts, assumedJoules: PowerReceiver.watts * 30)
    let classical = receiver.seconds[.hot] ?? 0
    // The start times are the same for all policies, too.
    var chance = SplitMix(seed: 41)
    var learned = LearnedIdleTimeout()
    var (joules, optimum) = (0.0, 0.0)
    let gaps: [Double?] =
      switch demand.gaps {
      case .given(let gaps): gaps
      case .adversarial(let count): Array(repeating: nil, count: count)
      }
    for given in gaps {
      let idleTimeout =
        switch policy {
        case .learned: learned.decide(costs).seconds
        case .fixed: 10.0
        case .classical: classical
        }
      let gap = given ?? idleTimeout + 0.01
      // With an adversary, start times do not vary. If they did, no policy could stay below twice the optimum without
      // knowing them in advance.
      let luck = given == nil ? 1 : PowerReceiver.luck(&chance)
      // The cost of each kind of start in this gap.
      var restarts = RestartCosts()
      for (kind, seconds) in receiver.seconds {
        let off = kind == .hot ? 0 : kind == .warm ? RestartCosts.Kind.hotSeconds + 1 : .infinity
        restarts.started(after: off, joules: PowerReceiver.watts * seconds * luck, seconds: seconds * luck)
      }
      joules += LearnedIdleTimeout.loss(gap, idleTimeout, costs, restarts)
      optimum += LearnedIdleTimeout.optimum(gap, costs, restarts)
      guard policy == .learned else { continue }
      learned.visited(after: gap, lingered: idleTimeout, costs)
      if gap > idleTimeout {
        let took = LearnedIdleTimeout.loss(gap - idleTimeout, 0, costs, restarts)
        learned.restarts.started(after: gap - idleTimeout, joules: took, seconds: took / PowerReceiver.watts)
      }
    }
    return (joules, optimum)
  }
}
