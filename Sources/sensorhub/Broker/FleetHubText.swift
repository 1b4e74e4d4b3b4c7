import CLinux
import FoundationEssentials
import Glibc
import Outputs

/// The text that describes a hub at a broker.
extension FleetHub {
  private struct Said: Decodable {
    var said: String
  }

  func text(_ name: String) -> String {
    let devices = reports[.devices].flatMap { try? DevicesOfHub.read($0) } ?? []
    // If the hub is offline, its devices may have changed since its last message.
    let awake = isOnline ? devices.filter { $0.power != "off" && $0.power != "asleep" } : []
    let health = health
    var lines = ["\(name): \(status)"]
    if let health {
      let board = health.board.map { ", board '\(Text.printable($0))'" } ?? ""
      lines[0] += board + (health.version.map { ", version \(Text.printable($0))" } ?? "")
    }
    lines += awake.map { device in
      let holders = device.holders.map(Text.printable).joined(separator: ", ")
      return "  awake    \(Text.printable(device.id)), \(Text.printable(device.power)): "
        + (holders.isEmpty ? Text.printable(device.reason) : "for \(holders)")
    }
    if let mark = DevicesOfHub.mark(of: devices) { lines[0] += ", \(mark)" }
    if isOnline {
      lines += devices.flatMap { device in
        (device.conditions ?? []).filter(\.isLoud).map { "  trouble  \(Text.printable(device.id)): \($0.text)" }
      }
    }
    let fences = fences
    // Print the alarms of an offline hub too: its last message is all that is known.
    lines += fences.compactMap { name, fence in
      fence.alarm.map { "  trouble  fence \(Text.printable(name)): \($0)" }
    }
    if !fences.isEmpty {
      let sides = fences.map { "\(Text.printable($0.name)) \(Text.printable($0.fence.state))" }
      lines.append("  fences   \(sides.joined(separator: ", "))")
    }
    if isOnline, awake.isEmpty, !devices.isEmpty { lines.append("  awake    no device") }
    if let last { lines.append("  last     \(StateLine.text(last))\(age)") }
    if !devices.isEmpty {
      let energy = devices.reduce(0) { $0 + $1.energyMilliwattHours }
      lines.append("  total    \(Text.fixed(energy, 3)) mWh")
    }
    if isOnline, let page { lines.append("  page     \(page)") }
    if let lost = health?.lostValues, lost > 0 {
      lines.append("  lost     \(lost) values while the broker was disconnected")
    }
    if let refused = health?.refusedValues, refused > 0 {
      lines.append("  refused  \(refused) values by the broker; the hub's log says why")
    }
    return lines.joined(separator: "\n")
  }

  /// The age of the last state, as the rest of a line; empty if it is unknown.
  private var age: String {
    guard let text = reports[.last], let said = try? JSONDecoder().decode(Said.self, from: Data(text)),
      let date = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(said.said)
    else { return "" }
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return ", sent \(Text.duration(seconds: max(0, Double(now.tv_sec) - date.timeIntervalSince1970))) ago"
  }

  func json(_ name: String) -> String {
    var json = JSONWriter()
    write(name, to: &json)
    return String(decoding: json.bytes, as: UTF8.self)
  }
}
