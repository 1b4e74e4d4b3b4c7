import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The devices that Home Assistant finds at the broker.
extension FleetTests {
  @Test func `Home Assistant gets a tracker, and its switch wakes the receiver`() throws {
    struct Discovery: Decodable {
      struct Component: Decodable {
        var platform, unique_id, default_entity_id: String
        var state_topic, command_topic, payload_on, payload_off, json_attributes_topic: String?
      }
      var availability_topic: String
      var state_topic: String?
      var components: [String: Component]
    }
    let hub = hub(", homeAssistant: true")
    #expect(hasJoined(hub))
    #expect(broker.retainsAny(on: "homeassistant/device/sensorhub-boat/config"))
    let text = try #require(broker.retained("homeassistant/device/sensorhub-boat/config"))
    let discovery = try JSONDecoder().decode(Discovery.self, from: Data(text.utf8))
    #expect(discovery.availability_topic == "sensorhub/boat/status")
    // The tracker would take this for its own topic.
    #expect(discovery.state_topic == nil)
    let tracker = try #require(discovery.components["position"])
    #expect(tracker.platform == "device_tracker" && tracker.state_topic == nil)
    #expect(tracker.default_entity_id == "device_tracker.boat_position")
    let live = try #require(discovery.components["live"])
    broker.publish(try #require(live.command_topic), try #require(live.payload_on))
    #expect(hub.shows("gps", "tracking"))
    #expect(hub.devicesNow["gps"].holders == ["mqtt homeassistant 1 Hz (position)"])
    #expect(broker.tells("\"position\":{", on: try #require(tracker.json_attributes_topic)))
    let viewers = try #require(live.state_topic)
    #expect(broker.tells("\"viewers\":[\"homeassistant\"]", on: viewers))
    broker.publish(try #require(live.command_topic), try #require(live.payload_off))
    #expect(hub.comesToRest())
    #expect(broker.tells("\"viewers\":[]", on: viewers))
    #expect(hub.stop() == 0)
  }

  @Test(arguments: [("boat", "boat", "other"), ("boat_9", "boat.9", "sensorhub"), ("Yacht", "yacht", "sensorhub")])
  func `Home Assistant still knows a hub whose name or topic changed`(
    _ name: String, _ next: String, _ topic: String
  ) throws {
    func section(_ name: String, _ topic: String) -> String {
      "mqtt: { broker: \"\(broker.address)\", hub: \"\(name)\", topic: \"\(topic)\", homeAssistant: true }"
    }
    let listener = broker.listen(["homeassistant/device/+/config"])
    let hub = hub(of: section(name, "sensorhub"))
    #expect(listener.prints("/sensorhub-\(name)/config {"))
    reload(hub, section(next, topic))
    let left = ["status", "health", "devices"].map { "sensorhub/\(name)/\($0)" }
    #expect(left.allSatisfy { broker.retains(nil, on: $0) }, "\(hub.program.standardError)")
    let told = "\"availability_topic\":\"\(topic)/\(next)/status\""
    #expect(listener.prints(told), "\(listener.standardOutput)")
    // At the end the broker has only its present messages.
    let found = broker.allRetained("homeassistant/device/+/config")
    #expect(found.count == 1 && found.allSatisfy { $0.contains(told) }, "\(found)")
    // The messages of the earlier name were removed first.
    let lines = listener.lines
    let cleared = lines.lastIndex { $0 == "homeassistant/device/sensorhub-\(name)/config (null)" }
    let first = try #require(lines.firstIndex { $0.contains(told) })
    #expect(cleared.map { $0 < first } ?? (name == next), "\(lines)")
    #expect(hub.stop() == 0)
  }

  @Test func `a device that is removed from a board file is removed from Home Assistant, also across a restart`() {
    func fences(_ names: [String]) -> String {
      section("boat", ", homeAssistant: true")
        + ", fences: { \(names.map { "\($0): { circle: [52.5163, 13.3777, 5000] }" }.joined(separator: ", ")) }"
    }
    let topic = "homeassistant/device/sensorhub-boat/config"
    let listener = broker.listen([topic])
    let hub = hub(of: fences(["port", "quay", "buoy"]))
    #expect(listener.prints("fence_quay"), "\(hub.program.standardError)")
    reload(hub, fences(["port", "quay"]))
    #expect(listener.prints(#""fence_buoy":{"platform":"sensor"}"#))
    #expect(eventually { broker.retained(topic)?.contains("fence_buoy") == false })
    // The next run also removes the parts that the board file lost while no hub ran.
    #expect(hub.stop() == 0)
    HubProcess.write(HubProcess.simulatedBoard(fences(["port"])), to: hub.boardFile)
    let folder = hub.boardFile.dropLast("/board.json5".count)
    let next = Program(
      ["run", "--socket", hub.socket, "--board", hub.boardFile], environment: ["STATE_DIRECTORY=\(folder)/state"])
    #expect(listener.prints(#""fence_quay":{"platform":"sensor"}"#), "\(next.standardError)")
    #expect(eventually { broker.retained(topic)?.contains("fence_quay") == false })
    #expect(broker.retained(topic)?.contains("fence_port") == true)
    #expect(listener.standardOutput.ranges(of: #"{"platform":"sensor"}"#).count == 2)
    next.send(SIGTERM)
    next.wait()
  }
}
