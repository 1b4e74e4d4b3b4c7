import CLinux
import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// A hub at a broker: viewers there keep the devices awake here, for as long as they look. The broker and the foreign
/// clients are Debian's.
@Suite(.timeLimit(.minutes(15))) struct FleetTests {
  private static let interest = "sensorhub/boat/interest"
  private let broker = Broker()

  private func hub(_ more: String = "", outputs: String = "") -> HubProcess {
    hub(of: section("boat", more) + outputs)
  }

  private func hub(of section: String) -> HubProcess { HubProcess(board: HubProcess.simulatedBoard(section)) }

  private func section(_ name: String, _ more: String = "") -> String {
    "mqtt: { broker: \"\(broker.address)\", hub: \"\(name)\"\(more) }"
  }

  private func hasJoined(_ hub: HubProcess) -> Bool { hub.logs("joined \(broker.address) as 'boat'") }

  /// How many lines of the log contain `text`.
  private func count(_ text: String, _ hub: HubProcess) -> Int {
    hub.program.standardError.split(separator: "\n").count { $0.contains(text) }
  }

  private func wakes(_ hub: HubProcess) -> [Int] { hub.devicesNow.devices.map(\.wakes) }

  private func reload(_ hub: HubProcess, _ section: String) {
    HubProcess.write(HubProcess.simulatedBoard(section), to: hub.boardFile)
    hub.program.send(SIGHUP)
  }

  /// A viewer whose request ends with its connection.
  private func viewer(_ name: String, _ stream: String, _ interest: String, of topic: String) -> Program {
    let topics = "\(FleetTests.interest)/\(name)/\(stream)"
    let listener = broker.listen([topic], ["--will-topic", topics, "--will-retain", "--will-qos", "1"])
    broker.publish(topics, interest)
    return listener
  }

  private struct Value: Decodable {
    struct Position: Decodable { var lat: Double }
    struct Attitude: Decodable { var roll: Double }
    var id: String?
    var position: Position?
    var attitude: Attitude?
  }

  private func values(_ program: Program) -> [Value] {
    program.lines.compactMap { line in
      try? JSONDecoder().decode(Value.self, from: Data(line.drop { $0 != "{" }.utf8))
    }
  }

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

  @Test func `watch shows the states of a remote hub, and its request ends with it`() {
    let hub = hub()
    #expect(hasJoined(hub))
    let once = Program(["watch", "--once", "--json", "\(broker.address)/boat"])
    #expect(once.wait() == 0, "\(once.standardError)")
    #expect(HubProcess.states(once).first?.position != nil, "\(once.standardOutput)")
    #expect(hub.comesToRest())
    let watch = Program(["watch", "--json", "--rate", "5", "--parts", "attitude", "\(broker.address)/boat"])
    #expect(watch.prints("\"attitude\":{"), "\(watch.standardError)")
    let holders = hub.devicesNow["imu"].holders
    #expect(holders.contains { $0.hasPrefix("mqtt watch-") && $0.hasSuffix("5 Hz (attitude)") }, "\(holders)")
    watch.send(SIGKILL)
    #expect(hub.comesToRest())
    let nobody = Program(["watch", "--once", "\(broker.address)/nobody"])
    #expect(nobody.wait() == 69)
    #expect(nobody.standardError.contains("there is no hub 'nobody' at \(broker.address)"), "\(nobody.standardError)")
    #expect(nobody.standardError.contains("known hubs: boat"), "\(nobody.standardError)")
    let misspelt = Program(["watch", "\(broker.address)/baot"])
    #expect(
      misspelt.logs("no hub 'baot' is known at \(broker.address); waiting for it; known hubs: boat\n"),
      "\(misspelt.standardError)")
    misspelt.send(SIGKILL)
    #expect(hub.stop() == 0)
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

  /// Stops and starts the broker, once the hub has noticed that it has gone.
  private func restartBroker(of hub: HubProcess) {
    let losses = count("cannot be reached", hub)
    broker.stop()
    #expect(eventually { count("cannot be reached", hub) > losses })
    broker.start()
  }

  @Test func `a restart of the broker causes no power cycle, and no value is lost`() {
    let logger = broker.joinedListener(["sensorhub/boat/state/attitude"], ["-c", "-i", "logger"])
    let hub = hub()
    #expect(hasJoined(hub))
    broker.publish("\(FleetTests.interest)/logger/attitude", #"{"rateHz": 10, "for": 3600}"#)
    func numbers() -> [Int] { values(logger).compactMap { $0.id?.split(separator: "-").last.flatMap { Int($0) } } }
    func gets(_ number: Int) -> Bool { logger.prints("-\(number)\"") }
    #expect(gets(6))
    for _ in 1...2 {
      restartBroker(of: hub)
      #expect(gets((numbers().max() ?? 0) + 20), "\(hub.program.standardError)")
    }
    // Each number comes at least once. A repeated message may come between others.
    let last = numbers().max() ?? 0
    #expect((1...last).allSatisfy(gets), "\(Set(1...last).subtracting(numbers()).sorted())")
    #expect(hub.devicesNow["imu"].wakes == 1)
    // The request lasts until it is cancelled.
    broker.publish("\(FleetTests.interest)/logger/attitude", "")
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
    logger.send(SIGKILL)
  }

  @Test func `a restart of the broker does not power-cycle the devices of its viewers`() {
    let hub = hub()
    #expect(hasJoined(hub))
    let watch = Program(["watch", "--json", "--rate", "5", "--parts", "attitude", "\(broker.address)/boat"])
    func values() -> Int { HubProcess.states(watch).count { $0.attitude != nil } }
    #expect(watch.prints("\"attitude\":{"), "\(watch.standardError)")
    // The broker keeps a viewer's place for only some seconds. On a busy machine the broker may be away for longer, or
    // the viewer may come back later. A defect would cause a power cycle at every restart, so one restart without a
    // power cycle is enough.
    let costsNothing = (0..<5).contains { _ in
      let wakes = hub.devicesNow["imu"].wakes
      restartBroker(of: hub)
      let before = values()
      #expect(eventually { values() > before + 5 }, "\(hub.program.standardError)")
      return hub.devicesNow["imu"].wakes == wakes
    }
    #expect(costsNothing, "\(hub.program.standardError)")
    watch.send(SIGKILL)
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `while its broker is down, viewers count as gone after a short time`() {
    let hub = hub()
    #expect(hasJoined(hub))
    broker.publish("\(FleetTests.interest)/phone/attitude", "{}")
    #expect(hub.shows("imu", "tracking"))
    broker.stop()
    #expect(hub.comesToRest())
    // The hub gets the request from the broker again, which kept it.
    broker.start()
    #expect(hub.shows("imu", "tracking"))
    // A request that was cancelled in the meantime has ended.
    #expect(hub.devicesNow["imu"].holders == ["mqtt phone 1 Hz (attitude)"])
    broker.publish("\(FleetTests.interest)/phone/attitude", #"{"rateHz": 0}"#)
    #expect(hub.comesToRest())
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

  @Test func `a hub without its broker works, and ends at once`() {
    // One port has no listener; the other accepts the connection and stays silent.
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    #expect(listen(listener, 8) == 0)
    var name = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &name) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(listener, $0, &size) }
    }
    for port in [SocketClient.freePort(), UInt16(bigEndian: name.sin_port)] {
      // Ending takes less time than the hub waits for a broker's answer. A busy machine may take that long once. A hub
      // that waits for the broker would take that long each time.
      let endsAtOnce = (0..<3).contains { _ in
        let hub = HubProcess(
          board: HubProcess.simulatedBoard("mqtt: { broker: \"mqtt://127.0.0.1:\(port)\", hub: \"boat\" }"))
        let watch = hub.watch(["--once", "--parts", "attitude"])
        #expect(watch.wait() == 0, "\(watch.standardError)")
        #expect(hub.comesToRest())
        hub.program.send(SIGTERM)
        return hub.program.wait(within: .seconds(15)) == 0
          && hub.program.standardError.contains("all power lines are off")
      }
      #expect(endsAtOnce)
    }
  }

  @Test func `a hub without the MQTT library says what to install`() {
    let folder = TemporaryFolder("library")
    // The loader finds this file first, but the file is not a library.
    HubProcess.write("none", to: folder.path + "/libmosquitto.so.1")
    let paths = [folder.path] + [getenv("LD_LIBRARY_PATH").map { String(cString: $0) }].compactMap { $0 }
    let environment = ["LD_LIBRARY_PATH=\(paths.joined(separator: ":"))"]
    let hub = HubProcess(board: HubProcess.simulatedBoard(section("boat")), environment: environment)
    #expect(
      hub.logs("apt-get install libmosquitto1"), "\(hub.program.standardError)"
    )
    #expect(hub.watch(["--once", "--parts", "attitude"]).wait() == 0)
    let check = Program(["check", hub.boardFile], environment: environment)
    #expect(check.wait() == 0)
    #expect(check.standardOutput.contains("at the broker \(broker.address) as 'boat'"), "\(check.standardOutput)")
    #expect(check.standardError.contains("apt-get install libmosquitto1"))
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

  @Test func `fleet lists hubs as asleep, awake or gone, and can hold their devices`() {
    let hub = hub()
    #expect(hasJoined(hub))
    func list(_ options: [String] = []) -> String {
      let list = Program(["fleet"] + options + [broker.address])
      list.wait()
      return list.standardOutput + list.standardError
    }
    let (health, devices) = ("sensorhub/boat/health", "sensorhub/boat/devices")
    #expect(broker.tells("\"viewers\":[]", on: health) && broker.tells("\"gps\"", on: devices))
    let asleep = list()
    #expect(
      asleep.contains("boat: online, board 'test', version") && asleep.contains("  awake    no device"), "\(asleep)")
    #expect(wakes(hub) == [0, 0])
    let hold = Program(["fleet", "hold", "\(broker.address)/boat", "--for", "1h", "--parts", "position"])
    #expect(hold.wait() == 0, "\(hold.standardError)")
    #expect(hold.standardOutput == "boat is held for 1 h 00 min\n")
    #expect(broker.tells("\"power\":\"tracking\"", on: devices) && broker.tells("\"gnss\"", on: "sensorhub/boat/last"))
    #expect(hub.devicesNow["gps"].holders.contains { $0.hasPrefix("mqtt hold-") })
    let awake = list()
    #expect(awake.contains("  awake    gps, tracking: for mqtt hold-") && awake.contains("  last     gnss"), "\(awake)")
    // One request is removed, and no other viewer's, whatever its name.
    broker.publish("\(FleetTests.interest)/hold-my-phone/state", #"{"parts": ["position"]}"#)
    #expect(broker.tells("hold-my-phone", on: health))
    #expect(hub.devicesNow["gps"].holders.count == 2)
    // A user of the broker holds the devices too, and can cancel only the user's own holds.
    HubProcess.write("any\n", to: broker.folder + "/viewer")
    let viewer = ["mqtt://viewer@127.0.0.1:\(broker.port)/boat", "--password-file", broker.folder + "/viewer"]
    func holdAsViewer() {
      let hold = Program(["fleet", "hold"] + viewer + ["--for", "1h", "--parts", "position"])
      #expect(hold.wait() == 0, "\(hold.standardError)")
    }
    func release(_ place: [String]) -> String {
      let release = Program(["fleet", "hold", "--release"] + place)
      release.wait()
      // The message does not contain the name of a hold.
      let words = (release.standardOutput + release.standardError).split(separator: " ")
      return words.map { word in word.firstRange(of: "hold-").map { word[..<$0.upperBound] } ?? word }.joined(
        separator: " ")
    }
    holdAsViewer()
    #expect(release(viewer) == "boat is no longer held by viewer: viewer/hold- released; hold- remains\n")
    #expect(release(viewer) == "boat is not held by viewer; hold- remains\n")
    #expect(eventually { hub.devicesNow["gps"].holders.count == 2 })
    // A client without a name there ends all of them.
    holdAsViewer()
    #expect(release(["\(broker.address)/boat"]) == "boat is no longer held: hold- viewer/hold- released\n")
    #expect(eventually { hub.devicesNow["gps"].holders == ["mqtt hold-my-phone 1 Hz (position)"] })
    #expect(release(["\(broker.address)/boat"]) == "boat is not held\n")
    struct Entry: Decodable {
      struct Health: Decodable { var viewers: [String] }
      var hub, status: String
      var health: Health
      var devices: HubProcess.Devices
      var last: HubProcess.State
    }
    let isRight = eventually {
      let entry = try? JSONDecoder().decode(Entry.self, from: Data(list(["--json"]).utf8))
      return entry?.hub == "boat" && entry?.health.viewers.count == 1
    }
    #expect(isRight, "\(list(["--json"]))")
    #expect(hub.stop() == 0)
    #expect(broker.retains("offline", on: "sensorhub/boat/status"))
    let gone = list()
    #expect(gone.contains("boat: offline"), "\(gone)")
  }

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

  @Test func `a reload can change or remove the broker`() {
    let hub = hub()
    #expect(hasJoined(hub))
    let other = Broker()
    reload(hub, "mqtt: { broker: \"\(other.address)\", hub: \"ship\" }")
    #expect(other.retains("online", on: "sensorhub/ship/status"), "\(hub.program.standardError)")
    #expect(broker.retains("offline", on: "sensorhub/boat/status"))
    reload(hub, "")
    #expect(other.retains("offline", on: "sensorhub/ship/status"))
    #expect(hub.stop() == 0)
  }

  @Test func `several reloads while the broker does not answer end with the last broker joined`() {
    broker.stop()
    let wall = FullListener(port: broker.port)
    let hub = hub()
    #expect(eventually { wall.isTried })
    for name in ["ship", "barge"] {
      let known = count("reloaded", hub)
      reload(hub, section(name))
      #expect(eventually { count("reloaded", hub) > known })
    }
    wall.end()
    broker.start()
    #expect(hub.logs("joined \(broker.address) as 'barge'"), "\(hub.program.standardError)")
    // The hub logs that it has joined as soon as the broker has answered. The status follows.
    #expect(broker.retains("online", on: "sensorhub/barge/status"))
    #expect(broker.retained("sensorhub/ship/status") == nil)
    #expect(hub.stop() == 0)
  }

  /// - Parameter queue: the length of the queue; without one, mosquitto 2.0 ends the connection after a forbidden
  ///   message
  @Test(arguments: [10_000, 0])
  func `a refused publication is reported once, counted, and has no other effect`(queue: Int) throws {
    let broker = Broker { folder in
      HubProcess.write("topic readwrite #\ntopic deny sensorhub/boat/last\n", to: folder + "/list")
      return "allow_anonymous true\nacl_file \(folder)/list\nmax_packet_size 2500\nmax_queued_messages \(queue)"
    }
    let hub = hub(of: "mqtt: { broker: \"\(broker.address)\", hub: \"boat\", homeAssistant: true }")
    #expect(hub.logs("does not accept homeassistant/device/sensorhub-boat/config"))
    #expect(count("bytes are more than the 2500 that the broker accepts in one message", hub) == 1)
    let viewer = broker.joinedListener(["sensorhub/boat/state/attitude"])
    broker.publish("\(FleetTests.interest)/viewer/attitude", #"{"rateHz": 50}"#)
    #expect(hub.logs("does not accept sensorhub/boat/last: the broker's access list"))
    #expect(viewer.prints("-201\""))
    // The numbers arrived in order. A message that the broker did not confirm before it ended the connection may be
    // repeated after that.
    var known: Set<Int> = []
    let numbers = values(viewer).compactMap { $0.id?.split(separator: "-").last.flatMap { Int($0) } }
      .filter { known.insert($0).inserted || queue > 0 }
    let first = try #require(numbers.first)
    #expect(numbers == Array(first..<first + numbers.count))
    #expect(count("cannot be reached", hub) <= (queue == 0 ? 1 : 0), "\(hub.program.standardError)")
    #expect(count("does not accept", hub) == 2, "\(hub.program.standardError)")
    var list = ""
    let isListed = eventually {
      let program = Program(["fleet", broker.address])
      let code = program.wait()
      list = program.standardOutput
      return code == 0 && list.contains("values by the broker; the hub's log says why")
    }
    #expect(isListed, "\(list)")
    #expect(hub.stop() == 0)
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
