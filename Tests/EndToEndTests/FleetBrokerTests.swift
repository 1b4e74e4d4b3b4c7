import CLinux
import Glibc
import TestSupport
import Testing

/// A broker that restarts, is missing, changes or refuses.
extension FleetTests {
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
}
