import Glibc
import TestSupport
import Testing

/// Requests of viewers at the broker.
extension FleetTests {
  @Test func `a remote viewer wakes only the devices that it requests, and they sleep when it is killed`() {
    let hub = hub()
    #expect(hasJoined(hub), "\(hub.program.standardError)")
    #expect(wakes(hub) == [0, 0])
    let phone = viewer("phone", "position", #"{"rateHz": 2}"#, of: "sensorhub/boat/state/position")
    #expect(phone.prints("\"position\":{"))
    #expect(hub.devicesNow["gps"].holders == ["mqtt phone 2 Hz (position)"])
    #expect(hub.devicesNow["imu"].wakes == 0)
    // Another viewer requests another part.
    let level = viewer("level", "state", #"{"rateHz": 20, "parts": ["attitude"]}"#, of: "sensorhub/boat/state")
    #expect(level.prints("\"attitude\":{"))
    #expect(values(phone).allSatisfy { $0.attitude == nil })
    #expect(hub.devicesNow["imu"].holders == ["mqtt level 20 Hz (attitude)"])
    phone.send(SIGKILL)
    #expect(hub.shows("gps", "off"))
    #expect(hub.devicesNow["imu"].power == "tracking")
    level.send(SIGKILL)
    #expect(hub.comesToRest())
    #expect(wakes(hub) == [1, 1])
    #expect(broker.retained("sensorhub/boat/status") == "online")
    #expect(hub.stop() == 0)
    // The message is the hub's own last one, or the broker's if that is late.
    #expect(broker.retains("offline", on: "sensorhub/boat/status"))
  }

  @Test func `a remote viewer gets a fix now and then, and the receiver sleeps in between`() throws {
    let hub = hub()
    #expect(hasJoined(hub))
    let listener = broker.joinedListener(["sensorhub/boat/state"])
    let watch = Program(
      ["watch", "--json", "--every", "604800", "--accuracy", "100", "--within", "60", "\(broker.address)/boat"])
    let outcome = #""schedule":{"met":true,"still":false,"radius":"#
    #expect(watch.prints(outcome), "\(watch.standardOutput) \(watch.standardError)")
    #expect(hub.comesToRest())
    #expect(wakes(hub) == [1, 0])
    func devices() -> String {
      let devices = Program(["devices", "--verbose", "--socket", hub.socket])
      devices.wait()
      return devices.standardOutput
    }
    #expect(devices().contains("for mqtt watch-") && devices().contains("every 168 h 00 min, to 100 m: woken"))
    // Another viewer's fixes and states do not reach this one.
    broker.publish("\(FleetTests.interest)/other/state", #"{"rateHz": 0, "every": 1}"#)
    #expect(listener.prints(#""viewer":"other""#))
    #expect(broker.joinedListener(["sensorhub/boat/state"]).prints(#""viewer":"other""#))
    broker.publish("\(FleetTests.interest)/other/state", #"{"parts": ["attitude"]}"#)
    #expect(listener.prints("\"attitude\":{"))
    broker.publish("\(FleetTests.interest)/other/state", "")
    #expect(hub.comesToRest())
    #expect(watch.lines.count == 1, "\(watch.standardOutput)")
    watch.send(SIGKILL)
    #expect(eventually { !devices().contains("every 168 h") })
    // A hub of an older version does not know schedules. It must receive no request for states, and the viewer is
    // informed.
    broker.publish("sensorhub/old/status", "online")
    broker.publish("sensorhub/old/devices", try #require(broker.retained("sensorhub/boat/devices")))
    let vain = Program(["watch", "--every", "60", "\(broker.address)/old"])
    #expect(vain.logs("old has not accepted the request"), "\(vain.standardError)")
    #expect(broker.retained("sensorhub/old/interest/+/state")?.contains(#""rateHz": 0, "every": 60.0"#) == true)
    vain.send(SIGKILL)
    #expect(hub.stop() == 0)
  }

  @Test func `a request at the broker ends after its time and is removed`() {
    let hub = hub()
    #expect(hasJoined(hub))
    broker.publish("\(FleetTests.interest)/a/attitude", #"{"for": 1}"#)
    // On a busy machine the IMU may be off again before the test sees it awake.
    #expect(eventually { hub.devicesNow["imu"].wakes == 1 })
    #expect(hub.comesToRest())
    #expect(broker.retains(nil, on: "\(FleetTests.interest)/a/attitude"))
    // A broker counts whole seconds. An expiry of one second may therefore have ended when the message reaches the hub.
    broker.publish("\(FleetTests.interest)/b/attitude", "{}", ["-D", "PUBLISH", "message-expiry-interval", "5"])
    #expect(eventually { hub.devicesNow["imu"].wakes == 2 })
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `an invalid request only increases a counter`() {
    let port = SocketClient.freePort()
    let hub = hub(outputs: ", http: { port: \(port) }")
    #expect(hasJoined(hub))
    func refused() -> Int? {
      let line = HTTPAnswer(port, "GET", "/metrics").body.split(separator: "\n").first {
        $0.hasPrefix("sensorhub_output_refused_clients_total{output=\"mqtt\"}")
      }
      return line?.split(separator: " ").last.flatMap { Int($0) }
    }
    #expect(refused() == 0)
    let hostile = [
      ("x/state", "on"), ("x/state", #"{"rateHz": 1e9}"#), ("x/position", #"{"parts": ["attitude"]}"#),
      ("x/longitude", "{}"), ("x/state", #"{"every": null}"#), ("x/state", #"{"every": -1}"#),
      ("x/state", #"{"every": 1e300, "accuracy": 10}"#), ("x/attitude", #"{"every": 60}"#),
      ("x/state", #"{"every": 60, "rateHz": 1}"#), ("x/position", #"{"every": 60, "accuracy": 1e-300}"#),
      ("a b/state", "{}"), ("x/state", String(repeating: "[", count: 1000)),
      ("x/state", "{\"name\": \"\(String(repeating: "x", count: 4000))\"}"),
    ]
    for (topic, text) in hostile { broker.publish("\(FleetTests.interest)/\(topic)", text, retained: false) }
    // A message longer than any request to a hub stays with the broker.
    broker.publish("\(FleetTests.interest)/x/state", String(repeating: "x", count: 100_000), retained: false)
    // The broker passes the messages on in their order.
    broker.publish("\(FleetTests.interest)/y/attitude", "{}", retained: false)
    #expect(hub.shows("imu", "tracking"))
    #expect(refused() == hostile.count)
    #expect(wakes(hub) == [0, 1])
    broker.publish("\(FleetTests.interest)/y/attitude", #"{"rateHz": 0}"#, retained: false)
    #expect(hub.comesToRest())
    // More viewers than a hub has room for: each of two users gets half.
    let viewer = "\(FleetTests.interest)/user-$((i % 2))/v$i/attitude"
    let many =
      "for i in $(seq 300); do mosquitto_pub -V 5 -h 127.0.0.1 -p \(broker.port) -q 1 -t \(viewer) -m {}; done"
    let crowd = Program(["-c", many], path: "/bin/sh")
    #expect(crowd.wait(within: .seconds(600)) == 0)
    #expect(eventually { refused() == hostile.count + 44 }, "\(refused() ?? -1)")
    #expect(hub.devicesNow["imu"].holders.count == 256)
    #expect(hub.stop() == 0)
  }

  @Test func `a subscriber without a request wakes the devices if the hub is configured to allow it`() {
    let logger = broker.joinedListener(["sensorhub/boat/state"])
    let hub = hub(", subscribersWake: true")
    #expect(hasJoined(hub))
    #expect(logger.prints("\"attitude\":{"), "\(logger.standardOutput)")
    #expect(hub.devicesNow["gps"].holders == ["mqtt (subscribers) 1 Hz"])
    logger.send(SIGKILL)
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }
}
