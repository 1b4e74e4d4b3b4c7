import ArgumentParser
import FoundationEssentials
import Outputs

/// Ends the slots of other users in a running hub, for root. These are holds, recordings, downloads, and requests of
/// viewers at a broker.
struct Release: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "End every hold, recording, download and interest that others keep in a hub. Takes root.",
    discussion: """
      A hold of the web port, and what a viewer asks for over a broker, outlive their connections, and there are only so many \
      places for them. One user has half of them at most; root, the account that the hub runs as and the members of the \
      group sensorhub end all of them with this command. Programs that are connected otherwise, such as sensorhub watch, \
      stay.

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
    guard let line = connection.nextLine() else { throw CommandError.hubClosed }
    guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(line)) else {
      throw CommandError(.inputOutput, "the hub's answer makes no sense", nextStep: "are both of the same version?")
    }
    if let message = answer.message {
      throw CommandError(
        answer.reason == "noPermission" ? .noPermission : .unavailable, message, nextStep: answer.nextStep)
    }
    let counts = [
      ("hold", answer.holds), ("recording", answer.recordings), ("download", answer.downloads),
      ("interest", answer.interests),
    ]
    let ended = counts.compactMap { name, count in
      count.flatMap { $0 > 0 ? "\($0) \(name)\($0 == 1 ? "" : "s")" : nil }
    }
    Terminal.standardOutput(ended.isEmpty ? "there is nothing to end" : "ended: \(ended.joined(separator: ", "))")
  }
}
