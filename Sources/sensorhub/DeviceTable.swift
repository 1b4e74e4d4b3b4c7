import Outputs

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
    lines = table + (troubles.isEmpty ? [] : [""] + troubles)
  }

  private static func row(_ device: DevicesOfHub.Device) -> [String] {
    // A failure that occurs again after a retry counts from the first one.
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
