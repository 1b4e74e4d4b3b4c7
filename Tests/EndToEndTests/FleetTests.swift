import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// A hub at a broker: viewers there keep the devices awake here, for as long as they look. The broker and the foreign
/// clients are Debian's.
@Suite(.timeLimit(.minutes(15))) struct FleetTests {
  static let interest = "sensorhub/boat/interest"
  let broker = Broker()

  func hub(_ more: String = "", outputs: String = "") -> HubProcess {
    hub(of: section("boat", more) + outputs)
  }

  func hub(of section: String) -> HubProcess { HubProcess(board: HubProcess.simulatedBoard(section)) }

  func section(_ name: String, _ more: String = "") -> String {
    "mqtt: { broker: \"\(broker.address)\", hub: \"\(name)\"\(more) }"
  }

  func hasJoined(_ hub: HubProcess) -> Bool { hub.logs("joined \(broker.address) as 'boat'") }

  /// How many lines of the log contain `text`.
  func count(_ text: String, _ hub: HubProcess) -> Int {
    hub.program.standardError.split(separator: "\n").count { $0.contains(text) }
  }

  func wakes(_ hub: HubProcess) -> [Int] { hub.devicesNow.devices.map(\.wakes) }

  func reload(_ hub: HubProcess, _ section: String) {
    HubProcess.write(HubProcess.simulatedBoard(section), to: hub.boardFile)
    hub.program.send(SIGHUP)
  }

  /// A viewer whose request ends with its connection.
  func viewer(_ name: String, _ stream: String, _ interest: String, of topic: String) -> Program {
    let topics = "\(FleetTests.interest)/\(name)/\(stream)"
    let listener = broker.listen([topic], ["--will-topic", topics, "--will-retain", "--will-qos", "1"])
    broker.publish(topics, interest)
    return listener
  }

  struct Value: Decodable {
    struct Position: Decodable { var lat: Double }
    struct Attitude: Decodable { var roll: Double }
    var id: String?
    var position: Position?
    var attitude: Attitude?
  }

  func values(_ program: Program) -> [Value] {
    program.lines.compactMap { line in
      try? JSONDecoder().decode(Value.self, from: Data(line.drop { $0 != "{" }.utf8))
    }
  }
}
