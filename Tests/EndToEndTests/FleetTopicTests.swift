import Glibc
import TestSupport
import Testing

/// The names of hubs at the broker, and their retained messages.
extension FleetTests {
  @Test func `a hub corrects its retained status if another client changes it`() {
    let hub = hub()
    #expect(hasJoined(hub), "\(hub.program.standardError)")
    #expect(broker.retains("online", on: "sensorhub/boat/status"))
    for round in 1...2 {
      broker.publish("sensorhub/boat/status", "offline")
      #expect(broker.retains("online", on: "sensorhub/boat/status"), "round \(round)")
    }
    // Repeated requests do not fill the log, which is written a moment later.
    #expect(hub.logs("has reported that 'boat' is offline (sensorhub/boat/status)"))
    #expect(
      count("has reported that 'boat' is offline (sensorhub/boat/status)", hub) == 1, "\(hub.program.standardError)")
    #expect(hub.stop() == 0)
    #expect(broker.retains("offline", on: "sensorhub/boat/status"))
  }

  @Test func `each published value has a unique id across all streams`() {
    let hub = hub()
    #expect(hasJoined(hub))
    let logger = broker.joinedListener(["sensorhub/boat/state/#"])
    let streams = ["state", "attitude", "rates"]
    for stream in streams {
      broker.publish("\(FleetTests.interest)/logger/\(stream)", #"{"rateHz": 20, "for": 3600}"#)
    }
    for stream in streams { #expect(logger.prints("-\(stream)-6\""), "\(logger.standardOutput.prefix(900))") }
    let all = values(logger).compactMap(\.id)
    #expect(all.count > 15 && Set(all).count == all.count)
    #expect(hub.stop() == 0)
    logger.send(SIGKILL)
  }

  @Test func `two hubs with the same name notice each other`() {
    let one = hub()
    #expect(hasJoined(one))
    let other = hub()
    #expect(hasJoined(other))
    #expect(one.logs("is also called 'boat'"), "\(one.program.standardError)")
    #expect(other.stop() == 0)
    #expect(one.stop() == 0)
  }

  @Test func `after a change of name, nothing remains under the old one, also in Home Assistant`() {
    let hub = hub(", homeAssistant: true")
    #expect(hasJoined(hub))
    let discovery = { (name: String) in "homeassistant/device/sensorhub-\(name)/config" }
    let left = ["status", "health", "devices"].map { "sensorhub/boat/\($0)" } + [discovery("boat")]
    #expect(left.allSatisfy { broker.retainsAny(on: $0) })
    reload(hub, section("ship", ", homeAssistant: true"))
    #expect(broker.retains("online", on: "sensorhub/ship/status"), "\(hub.program.standardError)")
    #expect(left.allSatisfy { broker.retains(nil, on: $0) }, "\(hub.program.standardError)")
    #expect(broker.retainsAny(on: discovery("ship")))
    reload(hub, section("ship"))
    #expect(broker.retains(nil, on: discovery("ship")), "\(hub.program.standardError)")
    #expect(broker.retains("online", on: "sensorhub/ship/status"))
    #expect(hub.stop() == 0)
  }

  @Test func `a hub that changes its name does not clear its old name's topics if another hub uses them`() {
    let hub = hub()
    #expect(hasJoined(hub))
    reload(hub, "")
    #expect(broker.retains("offline", on: "sensorhub/boat/status"))
    let boat = self.hub()
    #expect(hasJoined(boat))
    #expect(broker.retains("online", on: "sensorhub/boat/status"))
    reload(hub, section("ship"))
    #expect(broker.retains("online", on: "sensorhub/ship/status"), "\(hub.program.standardError)")
    // The answer to this request shows that the hub has received the other hub's status.
    broker.publish("sensorhub/ship/interest/phone/attitude", "{}")
    #expect(hub.shows("imu", "tracking"))
    #expect(broker.retained("sensorhub/boat/status") == "online")
    #expect(broker.retained("sensorhub/boat/health") != nil)
    #expect(boat.stop() == 0)
    #expect(hub.stop() == 0)
  }

  @Test func `the retained messages of a hub that took over an unused name stay when it stops`() {
    let hub = hub()
    #expect(hasJoined(hub))
    reload(hub, section("ship"))
    #expect(broker.retains("online", on: "sensorhub/ship/status"), "\(hub.program.standardError)")
    #expect(broker.retains(nil, on: "sensorhub/boat/status"), "\(hub.program.standardError)")
    let boat = self.hub()
    #expect(hasJoined(boat))
    #expect(broker.retainsAny(on: "sensorhub/boat/health"))
    #expect(boat.stop() == 0)
    #expect(broker.retains("offline", on: "sensorhub/boat/status"))
    // The hub's report about itself comes before those about its devices.
    broker.publish("sensorhub/ship/interest/phone/attitude", "{}")
    #expect(broker.tells("tracking", on: "sensorhub/ship/devices"))
    #expect(broker.retained("sensorhub/boat/status") == "offline")
    #expect(broker.retained("sensorhub/boat/health") != nil)
    #expect(hub.stop() == 0)
  }
}
