import Journeys

/// Error-bounded positions on simulated journeys and on a recorded drive, compared with fixed intervals that keep the
/// receiver on for the same share of the time. Prints the tables of the documentation.
struct ErrorBenchmark {
  /// The folder of the recorded drive.
  let drive: String
  /// The file for the plot; `nil` for none.
  let plot: String?

  /// One journey, or one set of them.
  struct Line {
    var name: String
    var bound: Double
    var bounded: JourneyOutcome
    var interval: Double
    var fixed: JourneyOutcome

    init(_ name: String, bound: Double, _ outcome: (FixTimes) -> JourneyOutcome) {
      (self.name, self.bound) = (name, bound)
      bounded = outcome(.bounded)
      (interval, fixed) = bounded.withEqualEnergy { outcome(.every(seconds: $0)) }
    }

    /// The bounded positions, fixed intervals with dead reckoning, and the last fixes of fixed intervals.
    var errors: [JourneyOutcome.Errors] { [bounded.errors, fixed.errors, fixed.errorsOfLastFix] }
  }

  /// A replay has few sleeps, and one bad one is 1 % of its time, so fewer replays give figures by chance.
  private static let replays = 20
  /// Dead reckoning with errors of four times its sigmas.
  private static let poorRatio = 4.0

  func run() {
    let lines = simulated + recorded
    print("| journey | bound | receiver on | within the bound | mean, 95 % | interval | reckoned | last fix |")
    print("|---|---|---|---|---|---|---|---|")
    for line in lines { print(row(line)) }
    if let plot, !chart(of: lines).write(to: plot) { print("\(plot) cannot be written") }
    let worst = lines.map { $0.bounded.errors.share(within: $0.bound) }.min() ?? 0
    print("error: within the bound \(percent(worst)) of the time or more (at least 95 %)")
  }

  /// The share of the time outside the bound, and the error that is exceeded for 5 % of the time as a multiple of the
  /// bound.
  private func chart(of lines: [Line]) -> BarChart {
    let series = [
      BarChart.Series(name: "error-bounded", colour: "#2a7de1"),
      BarChart.Series(name: "fixed interval, dead reckoning", colour: "#e1a02a"),
      BarChart.Series(name: "fixed interval, last fix", colour: "#b0b0b0"),
    ]
    let panels = [
      BarChart.Panel(title: "% of the time outside the bound", marks: [5, 25, 50], most: 50, decimals: 1),
      BarChart.Panel(title: "95 % error, multiples of the bound", marks: [1, 2, 4], most: 4),
    ]
    let rows = lines.map { line in
      let outside = line.errors.map { 100 * (1 - $0.share(within: line.bound)) }
      let multiples = line.errors.map { $0.percentile95 / line.bound }
      let name = "\(line.name), \(fixed(line.bound, 0)) m: on \(fixed(100 * line.bounded.onShare, 1)) %"
      return BarChart.Row(name: name, values: [outside, multiples])
    }
    return BarChart(series: series, panels: panels, rows: rows)
  }

  private var simulated: [Line] {
    let kinds: [(String, SimulatedJourney.Kind, Bool, Double)] = [
      ("city", .city, true, 25), ("motorway", .motorway, true, 25), ("tunnels", .tunnels, true, 25),
      ("parked", .parked, true, 25), ("errands", .errands, true, 25), ("city, receiver only", .city, false, 25),
      ("city", .city, true, 100),
    ]
    let lines = kinds.map { name, kind, hasReckoning, bound in
      Line(name, bound: bound) { SimulatedJourney.fifty(kind, hasReckoning: hasReckoning, bound: bound, $0) }
    }
    let ratio = ErrorBenchmark.poorRatio
    let poor = [25.0, 100].map { bound in
      Line("city, poor IMU", bound: bound) {
        SimulatedJourney.fifty(.city, hasReckoning: true, errorRatio: ratio, bound: bound, $0)
      }
    }
    return lines + poor
  }

  private var recorded: [Line] {
    guard let drive = RecordedDrive(folder: drive) else {
      print("\(drive) has no drive")
      return []
    }
    let bounds = [10.0, 25, 50, 100]
    let cases: [(isVehicle: Bool, bound: Double)] = bounds.map { (true, $0) } + bounds.map { (false, $0) }
    return cases.map { isVehicle, bound in
      Line(isVehicle ? "drive" : "drive, no motion stated", bound: bound) { times in
        DriveReplay.outcome(of: drive, bound: bound, isVehicle: isVehicle, times, replays: ErrorBenchmark.replays)
          ?? JourneyOutcome()
      }
    }
  }

  private func row(_ line: Line) -> String {
    func cell(_ errors: JourneyOutcome.Errors) -> String {
      "\(percent(errors.share(within: line.bound))); \(fixed(errors.mean, 1)), \(fixed(errors.percentile95, 1)) m"
    }
    let cells = line.errors.map(cell)
    let on = "\(percent(line.bounded.onShare))"
    return "| \(line.name) | \(fixed(line.bound, 0)) m | \(on) | \(cells[0]) | \(fixed(line.interval, 0)) s | "
      + "\(cells[1]) | \(cells[2]) |"
  }

  private func percent(_ share: Double) -> String { "\(fixed(100 * share, 1)) %" }
}
