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
        "  so far   on for \(Text.duration(seconds: device.onSeconds)) in \(device.wakes) wakes, "
          + "\(Text.fixed(device.energyMilliwattHours, 3)) mWh")
    }
    if devices.isEmpty { Terminal.standardOutput("the board file names no devices") }
  }
}
