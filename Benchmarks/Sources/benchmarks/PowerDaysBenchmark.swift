import Glibc

/// Prints the energy that a receiver and its board use in five different days: with a receiver that is always on, with
/// gpsd, with a cron script, and with the hub. The hub is a whole one, on a simulated clock; the other figures are
/// computed.
struct PowerDaysBenchmark {
  /// The energy of a receiver on one day, milliwatt-hours.
  private struct Figures {
    var name: String
    var receiver: [Double]
  }

  private static let programs = ["always on", "gpsd", "cron", "hub"]

  func run() {
    // The receiver with a backup supply, because every comparison would be worse without one.
    guard let receiver = PowerReceiver.all.last else { return }
    let days = PowerDay.all.compactMap { day in
      SchedulesBenchmark().joules(day.demand, receiver).map { joules in
        Figures(name: day.name, receiver: [PowerDay.alwaysOn, day.gpsd(receiver), day.cron, joules / 3.6])
      }
    }
    print("milliwatt-hours a day, the receiver alone\(receiver.name)")
    PowerDaysBenchmark.table(days) { fixed($0, 1) }
    for board in BoardPower.all {
      print("milliwatt-hours a day with the board: \(board.name), \(fixed(board.idleWatts, 1)) W")
      PowerDaysBenchmark.table(days) { "\(Int(($0 + board.milliwattHoursPerDay).rounded()))" }
    }
  }

  /// Prints a table for a document.
  private static func table(_ days: [Figures], _ text: (Double) -> String) {
    print("| day | \(programs.joined(separator: " | ")) |")
    print("|---|---|---|---|---|")
    for day in days { print("| \(day.name) | \(day.receiver.map(text).joined(separator: " | ")) |") }
  }
}
