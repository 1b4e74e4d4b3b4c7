import Glibc
import TestSupport
import Testing

/// Runs the real Home Assistant and checks the entities that it shows. The tests make no assumption about how Home
/// Assistant decodes the hub's messages.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HomeAssistantTests {
  private static let found = [
    "device_tracker.boat_position", "switch.boat_live", "sensor.boat_last_fix", "sensor.boat_speed",
    "sensor.boat_satellites", "sensor.boat_heading",
    "sensor.boat_power_gps", "sensor.boat_energy_gps", "sensor.boat_power_imu", "sensor.boat_energy_imu",
    "binary_sensor.boat_problem_gps", "binary_sensor.boat_problem_imu",
  ]

  @Test func `Home Assistant finds and tracks a hub, wakes it by a switch, and shows old values as unavailable`() throws
  {
    let broker = Broker()
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("mqtt: { broker: \"\(broker.address)\", hub: \"boat\", homeAssistant: true }"))
    let home = HomeAssistant(at: broker)
    func state(_ id: String) -> String? { home.entities(of: "boat")[id]?.state }
    /// Waits until each of these entities has its state.
    func shows(_ states: [String: String]) -> Bool {
      home.shows("boat") { entities in states.allSatisfy { entities[$0.key]?.state == $0.value } }
    }
    #expect(home.shows("boat") { Set($0.keys) == Set(HomeAssistantTests.found) }, "\(home.log)")
    let asleep = [
      "sensor.boat_power_gps": "off", "switch.boat_live": "off", "binary_sensor.boat_problem_gps": "off",
    ]
    #expect(shows(asleep), "\(home.entities(of: "boat"))")
    // Home Assistant has read everything by now.
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })

    #expect(home.turn("on", "switch.boat_live"))
    #expect(hub.shows("gps", "tracking"))
    #expect(hub.devicesNow["gps"].holders == ["mqtt homeassistant 1 Hz (position)"])
    #expect(hub.devicesNow["imu"].wakes == 0)
    #expect(shows(["switch.boat_live": "on", "sensor.boat_power_gps": "tracking"]))
    var latitudes: Set<Double> = []
    #expect(
      home.shows("boat") { entities in
        entities["device_tracker.boat_position"]?.place.latitude.map { _ = latitudes.insert($0) }
        return latitudes.count > 2
      })
    #expect(latitudes.allSatisfy { abs($0 - 52.5) < 0.1 }, "\(latitudes)")
    #expect(home.shows("boat") { $0["sensor.boat_speed"].flatMap { Double($0.state) } != nil })
    #expect(home.shows("boat") { $0["sensor.boat_satellites"].flatMap { Double($0.state) } ?? 0 > 3 }, "\(home.log)")

    // The configuration is changed so that minutes take seconds.
    let topic = "homeassistant/device/sensorhub-boat/config"
    let told = try #require(broker.retained(topic))
    let hasty = told.split(separator: "\"expire_after\":180").joined(separator: "\"expire_after\":3")
    #expect(hasty.utf8.count < told.utf8.count)
    broker.publish(topic, hasty)
    #expect(home.turn("off", "switch.boat_live"))
    #expect(hub.comesToRest())
    #expect(shows(["switch.boat_live": "off", "sensor.boat_power_gps": "off", "sensor.boat_speed": "unavailable"]))
    // The last known position is shown, and since when.
    #expect(state("device_tracker.boat_position") == "not_home")
    #expect(state("sensor.boat_last_fix")?.hasPrefix("20") == true, "\(home.entities(of: "boat"))")

    hub.program.send(SIGKILL)
    #expect(home.shows("boat") { $0.values.allSatisfy { $0.state == "unavailable" } })
    #expect(home.entities(of: "boat").count == HomeAssistantTests.found.count)
    #expect(!home.log.contains("sensorhub/boat"), "\(home.log)")
  }

  @Test func `each device or fence name has its own Home Assistant entity, and a removed name has none`() {
    let broker = Broker()
    func board(_ hub: String, _ fences: [String], _ devices: [String]) -> String {
      let areas = fences.map { "\"\($0)\": { circle: [52.5163, 13.3777, 5000] }" }.joined(separator: ", ")
      let list = devices.map { "\"\($0)\": { driver: \"nmea\", port: \"simulated/gps\" }" }.joined(separator: ", ")
      return "{ name: \"test\", devices: { \(list) }, fences: { \(areas) }, "
        + "mqtt: { broker: \"\(broker.address)\", hub: \"\(hub)\", homeAssistant: true } }"
    }
    let hub = HubProcess(board: board("boat-8", ["home-1", "home_1", "Home_1"], ["gps-1"]))
    let other = HubProcess(board: board("Boat.8", ["home-1"], ["gps_1"]))
    let home = HomeAssistant(at: broker)
    func fences(_ entities: [String: HomeAssistant.Entity]) -> [String] {
      entities.keys.filter { $0.hasPrefix("sensor.boat_8_fence_home_1") }.sorted()
    }
    let four = (1...4).map { "sensor.boat_8_fence_home_1" + ($0 == 1 ? "" : "_\($0)") }
    #expect(home.shows("boat_8") { fences($0) == four }, "\(home.entities(of: "boat_8").keys) \(home.log)")
    #expect(home.shows("boat_8") { $0.keys.filter { $0.contains("_power_gps_1") }.count == 2 })
    HubProcess.write(board("boat-8", ["home-1"], ["gps-1"]), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(
      home.shows("boat_8") { fences($0).count == 2 },
      "\(home.entities(of: "boat_8").keys) \(hub.program.standardError)")
    #expect(hub.stop() == 0)
    #expect(other.stop() == 0)
  }
}
