import ArgumentParser
import Outputs

/// Shows the activity of the devices.
struct Devices: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show each device's activity, holders and energy. Wakes nothing.",
    discussion: """
      The energy of a device is divided among the clients that caused it. The client that woke the device pays for the \
      start. While the device measures, its holders pay equal shares. (linger) is the energy of the idle timeout after \
      the last holder, and (standby) is the energy of a supply that is on without a client.

      If a device has failed, or has no measurement yet, the reason and the next step are below the table.

      Example: sensorhub devices --json | jq '.devices[] | {id, power, holders}'
      """)

  /// The period before now whose energy is shown.
  enum Span: String, CaseIterable, ExpressibleByArgument {
    case day
    case week
  }

  @Flag(help: "Print the status as JSON.")
  var json = false

  @Flag(help: "Print everything about each device: title, energy, schedules, budget and corrections.")
  var verbose = false

  @Flag(help: "Show who caused the energy use of each device since the hub started.")
  var bills = false

  @Option(
    help: ArgumentHelp(
      "Show who caused each device's energy use in the last 24 hours or seven days, across restarts of the hub.",
      valueName: "day|week"))
  var since: Span?

  @Flag(help: "Show what the hub has learned from each device's starts and clients, and its idle timeout.")
  var explain = false

  @Option(help: ArgumentHelp("The hub's state socket; devices.sock is next to it.", valueName: "path"))
  var socket: String?

  func run() throws {
    if json {
      Terminal.standardOutput(json: String(decoding: try DevicesOfHub.line(socket), as: UTF8.self))
      return
    }
    let report = try DevicesOfHub.report(socket)
    let devices = report.devices
    if let mark = DevicesOfHub.mark(of: devices) { say("\(mark): these are not live measurements") }
    if !verbose, !bills, since == nil, !explain {
      for line in DeviceTable(report).lines { say(line) }
      return
    }
    for condition in report.conditions ?? [] { say("board file: \(condition.text)") }
    if let board = report.board { say(board.line) }
    for device in devices {
      say("\(device.id): \(device.title)")
      say(
        "  power    \(device.power) for \(Text.duration(seconds: device.forSeconds))\(rest(device)): \(device.reason)")
      say(
        "  held by  \(device.holders.isEmpty ? "no client" : device.holders.joined(separator: ", "))")
      say(
        "  total    on for \(Text.duration(seconds: device.onSeconds)) in \(device.wakes) \(device.wakes == 1 ? "wake" : "wakes"), "
          + "\(Text.fixed(device.energyMilliwattHours, 3)) mWh\(measured(device))")
      if let budget = device.budget { write(budget) }
      for schedule in device.schedules ?? [] { write(schedule) }
      if let corrections = device.corrections { write(corrections) }
      for condition in device.conditions ?? [] where condition.kind != "remark" { say("  trouble  \(condition.text)") }
      if let remark = device.remark { say("  warning  \(remark)") }
      if bills { write(EnergyTable(device.bills.run, title: "energy", span: "since the hub started")) }
      switch since {
      case .day: write(EnergyTable(device.bills.day, title: "day", span: "in the last 24 hours"))
      case .week: write(EnergyTable(device.bills.week, title: "week", span: "in the last seven days"))
      case nil: break
      }
      if explain {
        for (index, line) in device.linger.explanation.enumerated() {
          say("  \(index == 0 ? "learned " : "        ") \(line)")
        }
      }
    }
    if devices.isEmpty { say("the board file names no devices") }
  }

  /// Prints one line. A line end in the hub's text is escaped.
  private func say(_ line: String) { Terminal.standardOutput(Text.printable(line)) }

  /// The rest of the idle timeout, as text.
  private func rest(_ device: DevicesOfHub.Device) -> String {
    device.lingersForSeconds.map { ", \(Text.duration(seconds: max(0, $0))) more" } ?? ""
  }

  /// Prints when the next fix of a schedule is due, for which holder, and the reason for the wake.
  private func write(_ schedule: DevicesOfHub.Schedule) {
    func terms(_ seconds: Double, _ metres: Double?) -> String {
      "every \(Text.duration(seconds: seconds))"
        + (metres.map { ", to \(Text.fixed($0, $0 < 10 ? 1 : 0)) m" } ?? "")
    }
    let left = schedule.relaxed.map {
      " (reduced, as energy is short: \(terms($0.everySeconds, $0.accuracyMetres)))"
    }
    let due =
      schedule.dueInSeconds > 0 ? "in \(Text.duration(seconds: schedule.dueInSeconds))" : "now"
    say(
      "  due      \(due) for \(schedule.holder), \(terms(schedule.everySeconds, schedule.accuracyMetres))\(left ?? ""): "
        + schedule.reason)
  }

  private func write(_ budget: DevicesOfHub.Budget) {
    let steps =
      budget.steps == 0 ? "" : ", \(budget.stepsTaken) of \(budget.steps) steps of 'whenShort' taken"
    say(
      "  budget   \(Text.fixed(budget.leftMilliwattHours, 3)) mWh left, "
        + "of \(Text.fixed(budget.milliwattHoursPerDay, 3)) a day\(steps)")
  }

  private func write(_ corrections: DevicesOfHub.Corrections) {
    var text = "\(corrections.phase) from \(corrections.source)"
    let count = corrections.messages.values.reduce(0, &+)
    if count > 0 {
      let numbers = corrections.messages.keys.sorted().joined(separator: ", ")
      text += ", \(count) messages (\(numbers)), \(corrections.bytes) bytes"
    }
    if let age = corrections.ageSeconds { text += ", the last \(Text.duration(seconds: age)) ago" }
    if let metres = corrections.baseDistanceMetres {
      text += ", from a base \(Text.fixed(metres / 1000, 1)) km away"
    }
    if corrections.lost > 0 { text += ", \(corrections.lost) lost because the receiver's line is too slow" }
    if let receiver = corrections.receiver {
      let counts = [
        ("used", receiver.used), ("not used", receiver.unused), ("read", receiver.unknown),
        ("damaged", receiver.damaged),
      ]
      let words = counts.filter { $0.1 > 0 }.map { "\($0.1) \($0.0)" }
      text += "; the receiver reports: \(words.joined(separator: ", "))"
    }
    say("  base     \(text)")
  }

  private func write(_ table: EnergyTable) {
    for line in table.lines { say("  \(line)") }
  }

  /// The share of the energy that was measured, as text. The rest is computed from the currents in the board file.
  private func measured(_ device: DevicesOfHub.Device) -> String {
    guard device.energyMilliwattHours > 0, device.measuredMilliwattHours > 0 else { return "" }
    let percent = 100 * device.measuredMilliwattHours / device.energyMilliwattHours
    return percent > 99.5 ? ", measured" : ", \(Text.fixed(percent, 0)) % of it measured"
  }
}

/// The devices as a table, with their problems below it.
struct DeviceTable {
  private static let head = ["DEVICE", "POWER", "FOR", "TOTAL", "HELD BY"]

  /// The lines, without line ends.
  let lines: [String]

  init(_ report: DevicesOfHub.Report) {
    let devices = report.devices
    guard !devices.isEmpty else {
      lines = ["the board file names no devices"]
      return
    }
    let rows = [DeviceTable.head] + devices.map(DeviceTable.row)
    // The last column needs no padding.
    let widths = (0..<DeviceTable.head.count - 1).map { column in rows.map { $0[column].count }.max() ?? 0 }
    let table = rows.map { row in
      zip(row, widths).map { Text.padded($0, $1 + 2) }.joined() + row[widths.count]
    }
    let troubles = report.troubles.flatMap { name, condition in
      ["\(name): \(condition.headline)"] + (condition.nextStep.map { ["  -> \($0)"] } ?? [])
    }
    let notes = troubles + [report.board?.line].compactMap { $0 }
    lines = table + (notes.isEmpty ? [] : [""] + notes)
  }

  private static func row(_ device: DevicesOfHub.Device) -> [String] {
    // If a failure occurs again after each retry, its duration counts from the first occurrence.
    let seconds = device.conditions?.first { $0.kind == device.power }?.forSeconds ?? device.forSeconds
    let rest = device.lingersForSeconds.map { ", \(Text.duration(seconds: max(0, $0))) more" } ?? ""
    let wakes = "\(device.wakes) \(device.wakes == 1 ? "wake" : "wakes")"
    return [
      Text.printable(device.id), Text.printable(device.power), Text.duration(seconds: seconds),
      "\(wakes), \(Text.fixed(device.energyMilliwattHours, 3)) mWh",
      device.holders.isEmpty
        // The reason for a failure is printed below the table.
        ? Text.printable("no client\(rest)\(device.power == "failed" ? "" : ": \(device.reason)")")
        : device.holders.map(Text.printable).joined(separator: ", "),
    ]
  }
}

/// A device's energy per client, one client in each line.
struct EnergyTable {
  private static let indent = String(repeating: " ", count: 11)

  /// The lines: `day      5.834 mWh in the last 24 hours`, and below it a line for each client, the largest first:
  /// milliwatt-hours, share, name.
  let lines: [String]

  /// - Parameters:
  ///   - title: for example `day`
  ///   - span: for example `in the last 24 hours`
  init(_ clients: [DevicesOfHub.ClientEnergy], title: String, span: String) {
    let sum = clients.reduce(0) { $0 + $1.milliwattHours }
    let rows = clients.sorted { ($1.milliwattHours, $0.payer) < ($0.milliwattHours, $1.payer) }
      .map { client in
        (
          energy: Text.fixed(client.milliwattHours, 3),
          share: sum > 0 ? Text.fixed(100 * client.milliwattHours / sum, 0) + " %" : "", payer: client.payer
        )
      }
    func right(_ text: String, _ width: Int) -> String {
      String(repeating: " ", count: max(0, width - text.count)) + text
    }
    let width = rows.map(\.energy.count).max() ?? 0
    let shareWidth = rows.map(\.share.count).max() ?? 0
    lines =
      ["\(Text.padded(title, 9))\(Text.fixed(sum, 3)) mWh \(span)"]
      + rows.map { "\(EnergyTable.indent)\(right($0.energy, width))  \(right($0.share, shareWidth))  \($0.payer)" }
  }
}
