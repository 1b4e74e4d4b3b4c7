import FoundationEssentials
import Hub
import MonotonicTime
import Publishing
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// Fences that viewers at a broker add and remove.
@Suite(.timeLimit(.minutes(10)))
struct FenceCommandsTests {
  private struct Answer: Decodable, Equatable {
    var id, `class`, name, message: String?
    var added, removed, kept: Bool?
    var circle: [Double]?
  }

  private let clock = ManualClock()
  private let host: HubHost
  private let commands: FenceCommands
  private let answers = Recorder<Answer>()
  private let viewers = Recorder<String>()
  private let folder = TemporaryFolder("fence-commands")

  init() throws {
    let text = HubProcess.simulatedBoard("fences: { yard: { circle: [54, 10, 100] } }")
    let board = try Board(json5: Array(text.utf8), file: "test")
    let hub = Hub(board: board, hardware: SimulatedHardware(world: World(start: MonotonicClock().now)))
    host = HubHost(hub, version: "test")
    let file = AddedFenceFile(path: "\(folder.path)/added-fences.json") {}
    host.fences.follow(hub, memory: nil, file: file) { _ in }
    commands = FenceCommands(host: host, clock: clock) { [answers, viewers] viewer, bytes in
      viewers.append(viewer)
      if let answer = try? JSONDecoder().decode(Answer.self, from: Data(bytes)) { answers.append(answer) }
    }
  }

  /// Sends a command, and waits for its answer.
  private func ask(_ command: String) -> Answer? {
    let count = answers.values.count
    commands.receive(Array(command.utf8), isRepeated: false, from: "phone")
    guard answers.waits(until: { $0.count > count }) else { return nil }
    return answers.values[count]
  }

  private func end() async {
    commands.end()
    host.fences.end()
    host.shutDown()
    await host.hub.isOff()
  }

  private static let anchor =
    #"{"id": "7", "fence": {"name": "anchor", "radiusMetres": 40, "latitude": 54.4, "longitude": 10.2}}"#

  @Test func `a command adds a fence, another one removes it, and both are kept`() async throws {
    let added = try #require(ask(Self.anchor))
    #expect(
      added
        == Answer(
          id: "7", class: "FENCE", name: "anchor", message: nil, added: true, kept: true, circle: [54.4, 10.2, 40]))
    #expect(viewers.values == ["phone"])
    #expect(host.fences.addedNames == ["anchor"])
    #expect(AddedFenceFile(path: "\(folder.path)/added-fences.json") {}.fences.map(\.name) == ["anchor"])
    let removed = try #require(ask(#"{"removeFence": "anchor"}"#))
    #expect(removed == Answer(id: nil, class: "FENCE", name: "anchor", message: nil, removed: true, kept: true))
    #expect(host.fences.addedNames.isEmpty)
    #expect(AddedFenceFile(path: "\(folder.path)/added-fences.json") {}.fences.isEmpty)
    await end()
  }

  @Test func `a fence around the board's position waits for a fix`() async throws {
    let added = try #require(ask(#"{"fence": {"name": "here", "radiusMetres": 100}}"#))
    #expect(added.added == true && added.circle?.count == 3, "\(added)")
    await end()
  }

  @Test(arguments: [
    (#"{"fence": {"name": "yard", "radiusMetres": 40, "latitude": 54, "longitude": 10}}"#, "is set in the board file"),
    (#"{"removeFence": "yard"}"#, "is set in the board file"), (#"{"removeFence": "quay"}"#, "no fence 'quay'"),
    (#"{"fence": {"name": "a b", "radiusMetres": 40}}"#, "'name' must be"),
    (#"{"fence": {"name": "a", "radius": 40}}"#, "did you mean 'radiusMetres'?"),
    (#"{"fences": "list"}"#, "is not a key of this request"), ("{}", "either 'fence' or 'removeFence'"),
    (#"{"removeFence": "a", "fence": {"name": "a", "radiusMetres": 40}}"#, "either 'fence' or 'removeFence'"),
    ("anchor", "a command is"),
  ])
  func `an invalid command is answered with the reason`(_ command: String, _ reason: String) async throws {
    let answer = try #require(ask(command))
    #expect(answer.class == "ERROR" && answer.message?.contains(reason) == true, "\(answer)")
    #expect(host.fences.addedNames.isEmpty)
    await end()
  }

  @Test func `a command that the broker kept is ignored, and so is an empty one`() async throws {
    commands.receive(Array(Self.anchor.utf8), isRepeated: true, from: "phone")
    commands.receive([], isRepeated: false, from: "phone")
    // Commands are answered in order, so this is the first answer.
    #expect(ask(#"{"removeFence": "anchor"}"#)?.class == "ERROR")
    #expect(answers.values.count == 1)
    await end()
  }

  @Test func `changes beyond sixty an hour are refused`() async throws {
    for _ in 0..<RequestStarts.most { #expect(ask(Self.anchor)?.added == true) }
    #expect(ask(Self.anchor)?.message?.contains("60 times within an hour") == true)
    clock.advance(by: RequestStarts.window)
    #expect(ask(Self.anchor)?.added == true)
    await end()
  }

  @Test func `refusals beyond sixty an hour are not answered, but commands still are`() async throws {
    for _ in 0..<RequestStarts.most { #expect(ask("anchor")?.class == "ERROR") }
    for _ in 0..<FenceCommands.most / 2 { commands.receive([UInt8(ascii: "{")], isRepeated: false, from: "phone") }
    // Commands are carried out in order, so the others have been refused by now.
    #expect(ask(Self.anchor)?.added == true)
    #expect(answers.values.count == RequestStarts.most + 1)
    clock.advance(by: RequestStarts.window)
    #expect(ask("anchor")?.class == "ERROR")
    await end()
  }

  @Test func `only topics of one viewer are commands`() {
    let topics = HubTopics(topic: "sensorhub", hub: "boat")
    #expect(topics.viewer(ofFenceCommand: topics.fenceCommand(of: "phone")) == "phone")
    #expect(topics.viewer(ofFenceCommand: topics.fenceCommand(of: "anna/phone")) == "anna/phone")
    #expect(topics.fenceAnswer(to: "anna/phone") == "sensorhub/boat/answer/anna/phone/fence")
    for topic in [
      "sensorhub/boat/command/fence", "sensorhub/boat/command/a/b/c/fence", "sensorhub/boat/command/phone/state",
      "sensorhub/boat/command//fence", "sensorhub/boat/command/a b/fence", "sensorhub/van/command/phone/fence",
      "sensorhub/boat/interest/phone/fence",
    ] { #expect(topics.viewer(ofFenceCommand: topic) == nil, "\(topic)") }
  }
}
