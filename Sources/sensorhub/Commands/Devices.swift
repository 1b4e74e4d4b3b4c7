import ArgumentParser
import FoundationEssentials
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

  private struct Report: Decodable {
    struct Device: Decodable {
      var id: String
      var title: String
      var power: String
      var forSeconds: Double
      var reason: String
      var holders: [String]
      var onSeconds: Double
      var wakes: Int
      var energyMilliwattHours: Double
    }
    var devices: [Device]
  }

  func run() throws {
    var connection = try HubConnection.open(socket) { $0.devices }
    guard let line = try connection.nextLine() else {
      throw CommandError(.unavailable, "the hub has closed the connection", nextStep: "see its log, and start it again")
    }
    if json {
      Terminal.standardOutput(String(decoding: line, as: UTF8.self))
      return
    }
    guard let report = try? JSONDecoder().decode(Report.self, from: Data(line)) else {
      throw CommandError(.inputOutput, "the hub's answer makes no sense", nextStep: "are both of the same version?")
    }
    for device in report.devices {
      Terminal.standardOutput("\(device.id): \(device.title)")
      Terminal.standardOutput(
        "  power    \(device.power) for \(Text.duration(seconds: device.forSeconds)): \(device.reason)")
      Terminal.standardOutput(
        "  held by  \(device.holders.isEmpty ? "nobody" : device.holders.joined(separator: ", "))")
      Terminal.standardOutput(
        "  so far   on for \(Text.duration(seconds: device.onSeconds)) in \(device.wakes) wakes, "
          + "\(Text.fixed(device.energyMilliwattHours, 3)) mWh")
    }
    if report.devices.isEmpty { Terminal.standardOutput("the board file names no devices") }
  }
}
