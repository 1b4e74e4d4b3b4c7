import ArgumentParser
import Outputs

/// Shows what the devices are doing.
struct Devices: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show what each device is doing, for whom, and what it has cost. Wakes nothing.",
    discussion: "Example: sensorhub devices --json | jq '.devices[] | {id, power, energyMilliwattHours}'")

  @Flag(help: "Print the status as JSON.")
  var json = false

  @Option(help: ArgumentHelp("The hub's state socket; devices.sock lies beside it.", valueName: "path"))
  var socket: String?

  func run() throws {
    if json {
      Terminal.standardOutput(String(decoding: try DevicesOfHub.line(socket), as: UTF8.self))
      return
    }
    let devices = try DevicesOfHub.read(socket)
    for device in devices {
      Terminal.standardOutput("\(device.id): \(device.title)")
      Terminal.standardOutput(
        "  power    \(device.power) for \(Text.duration(seconds: device.forSeconds)): \(device.reason)")
      Terminal.standardOutput(
        "  held by  \(device.holders.isEmpty ? "nobody" : device.holders.joined(separator: ", "))")
      Terminal.standardOutput(
        "  so far   on for \(Text.duration(seconds: device.onSeconds)) in \(device.wakes) \(device.wakes == 1 ? "wake" : "wakes"), "
          + "\(Text.fixed(device.energyMilliwattHours, 3)) mWh\(measured(device))")
    }
    if devices.isEmpty { Terminal.standardOutput("the board file names no devices") }
  }

  /// How much of the energy a supply monitor measured; the rest is by the currents that the board file states.
  private func measured(_ device: DevicesOfHub.Device) -> String {
    guard device.energyMilliwattHours > 0, device.measuredMilliwattHours > 0 else { return "" }
    let percent = 100 * device.measuredMilliwattHours / device.energyMilliwattHours
    return percent > 99.5 ? ", measured" : ", \(Text.fixed(percent, 0)) % of it measured"
  }
}
