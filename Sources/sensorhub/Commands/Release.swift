import ArgumentParser
import FoundationEssentials
import Outputs

/// Ends the holds, recordings, downloads and MQTT requests of all users of a running hub.
struct Release: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "End the holds, recordings, downloads and MQTT requests of all users. Needs root or the group sensorhub.",
    discussion: """
      Holds of the web port and requests of viewers at a broker outlast their connections, and their number is limited. \
      One user can have at most half of them. Root, the hub's account and the members of the group sensorhub can end all \
      of them with this command. Programs with another kind of connection, such as sensorhub watch, stay connected.

      Example: sudo sensorhub release
      """)

  private struct Answer: Decodable {
    var message, nextStep, reason: String?
    var holds, recordings, downloads, interests: Int?
  }

  @Option(help: ArgumentHelp("The hub's state socket.", valueName: "path"))
  var socket: String?

  func run() throws {
    var connection = try HubConnection.open(socket) { $0.state }
    connection.send(#"{"release": "all", "name": "release"}"#)
    let line = try connection.answer()
    guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(line)) else {
      throw CommandError(
        .inputOutput, "the hub's answer cannot be understood",
        nextStep: "check that sensorhub and the hub have the same version")
    }
    if let message = answer.message {
      throw CommandError(
        answer.reason == "noPermission" ? .noPermission : .unavailable, message, nextStep: answer.nextStep)
    }
    let counts = [
      ("hold", answer.holds), ("recording", answer.recordings), ("download", answer.downloads),
      ("request", answer.interests),
    ]
    let ended = counts.compactMap { name, count in
      count.flatMap { $0 > 0 ? "\($0) \(name)\($0 == 1 ? "" : "s")" : nil }
    }
    Terminal.standardOutput(ended.isEmpty ? "nothing to end" : "ended: \(ended.joined(separator: ", "))")
  }
}
