import MonotonicTime
import Outputs

/// Decides which lines to print about devices that do not work: a line at each change, and one a minute if nothing
/// changes.
struct ConditionLines {
  static let interval = Duration.seconds(60)
  /// The minimum interval between lines. Reports may change quickly, for example because satellites come and go.
  static let shortest = Duration.seconds(5)

  private struct Said {
    var identity: String
    var at: MonotonicInstant
  }

  private var said: [String: Said] = [:]

  /// Compares the hub's report about its devices with the lines that were printed.
  ///
  /// - Returns: the lines to print, without line ends
  mutating func take(_ report: DevicesOfHub.Report, at now: MonotonicInstant) -> [String] {
    var lines: [String] = []
    // Print only the first problem of each device, which is the worst.
    var present: Set<String> = []
    for (name, condition) in report.troubles where present.insert(name).inserted {
      let before = said[name]
      let isSame = before?.identity == condition.identity
      if let before, now - before.at < (isSame ? ConditionLines.interval : ConditionLines.shortest) { continue }
      said[name] = Said(identity: condition.identity, at: now)
      lines.append(Text.printable("\(name): \(condition.text)"))
    }
    for name in said.keys.sorted() where !present.contains(name) {
      said[name] = nil
      let device = report.devices.first { $0.id == name }
      lines.append(Text.printable("\(name): resolved" + (device.map { "; it is \($0.power), \($0.reason)" } ?? "")))
    }
    return lines
  }
}
