import FoundationEssentials
import Glibc
import HardwareIO
import TestSupport

/// Home Assistant itself, fetched by `.ci/home-assistant`, with MQTT and its REST API but without its pages.
final class HomeAssistant {
  struct Entity: Decodable {
    /// The properties of a tracker.
    struct Position: Decodable { var latitude, longitude: Double? }

    private enum CodingKeys: String, CodingKey {
      case id = "entity_id"
      case state
      case place = "attributes"
    }

    var id, state: String
    var place: Position
  }

  private let port = SocketClient.freePort()
  private let temporary = TemporaryFolder("home-assistant")
  private var folder: String { temporary.path }
  private let program: Program

  init(at broker: Broker) {
    program = Program(
      [temporary.path, "\(port)", "\(broker.port)"], path: TestTools.path("home-assistant/run") ?? "/bin/false")
    // The first start compiles its modules.
    _ = eventually(within: .seconds(240)) {
      SocketClient.isListening(port) && ask("").status == 200 || !program.isRunning
    }
  }

  deinit {
    program.send(SIGTERM)
    program.wait()
  }

  /// The warnings and errors.
  var log: String { program.standardOutput + program.standardError }

  private var authorization: String {
    let token = (try? Files.bytes(of: folder + "/token")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    return "Authorization: Bearer \(token)"
  }

  /// - Parameter content: the JSON to post; `nil` for a GET request
  private func ask(_ path: String, _ content: String? = nil) -> HTTPAnswer {
    let headers = [authorization]
    guard let content else { return HTTPAnswer(port, "GET", "/api/\(path)", headers) }
    return HTTPAnswer(
      port, "POST", "/api/\(path)",
      headers + ["Content-Type: application/json", "Content-Length: \(content.utf8.count)"], body: content)
  }

  /// Home Assistant's entities of a hub, by their ids.
  ///
  /// - Parameter hub: the hub's name in Home Assistant, which the ids contain
  func entities(of hub: String) -> [String: Entity] {
    let all = (try? JSONDecoder().decode([Entity].self, from: Data(ask("states").body.utf8))) ?? []
    return Dictionary(
      all.filter { $0.id.split(separator: ".").last?.hasPrefix("\(hub)_") == true }.map { ($0.id, $0) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Waits until the entities of a hub meet a condition. Home Assistant sends an event for each change of an entity, and
  /// the condition is evaluated once before and after each.
  func shows(_ hub: String, _ condition: ([String: Entity]) throws -> Bool) rethrows -> Bool {
    let events = SocketClient(port: port)
    events.send(
      "GET /api/stream?restrict=state_changed HTTP/1.1\r\nHost: localhost\r\n\(authorization)\r\n\r\n")
    // The first event says that the others follow.
    guard events.receives("data: ping") else { return false }
    let deadline = ContinuousClock.now + .seconds(180)
    while ContinuousClock.now < deadline {
      events.forget()
      if try condition(entities(of: hub)) { return true }
      guard events.receives("state_changed") else { break }
    }
    return try condition(entities(of: hub))
  }

  /// Switches an entity as a user does.
  func turn(_ state: String, _ entity: String) -> Bool {
    ask("services/switch/turn_\(state)", "{\"entity_id\": \"\(entity)\"}").status == 200
  }
}
