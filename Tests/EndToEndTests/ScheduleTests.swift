import Glibc
import TestSupport
import Testing

/// Scheduled fixes as clients request them.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ScheduleTests {
  private let http = SocketClient.freePort()

  private func hub() -> HubProcess { HubProcess(board: HubProcess.simulatedBoard("http: { port: \(http) }")) }

  /// An interval in seconds so long that the next fix is far away, whenever the machine was switched on.
  private static let week = "604800"

  @Test func `watch gets an accurate enough fix, and the receiver sleeps until the next one`() {
    var hub = hub()
    func begin() -> Program {
      let watch = hub.watch(["--json", "--every", Self.week, "--accuracy", "100", "--within", "60"])
      #expect(eventually { watch.lines.count == 1 }, "\(watch.standardError)")
      return watch
    }
    var watch = begin()
    // If a busy machine delays a client between its connection and its request, everything is woken first. Then there
    // is another chance.
    for _ in 0..<4 where hub.devicesNow["imu"].wakes > 0 {
      watch.send(SIGKILL)
      hub = self.hub()
      watch = begin()
    }
    let met = #""schedule":{"met":true,"still":false,"radius":"#
    #expect(watch.standardOutput.contains(met), "\(watch.standardOutput)")
    #expect(HubProcess.states(watch).first?.position != nil)
    #expect(hub.comesToRest())
    #expect(watch.isRunning)
    let devices = hub.devicesNow
    // Devices without a part in the request were not woken.
    #expect(devices["gps"].wakes == 1 && devices["imu"].wakes == 0 && devices["gps"].holders.isEmpty)
    let report = Program(["devices", "--bills", "--socket", hub.socket])
    report.wait()
    #expect(report.standardOutput.contains("for watch[\(watch.pid)], every 168 h 00 min, to 100 m: woken"))
    watch.send(SIGINT)
    watch.wait()
    #expect(eventually { !hub.devicesText.contains("every 168 h") })
    #expect(hub.stop() == 0)
  }

  @Test func `watch shows a request that is degraded for lack of energy, and only its changed values`() {
    let hub = HubProcess(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated",
          line: "gps-power", currentMilliamperes: 30, milliwattHoursPerDay: 0.01, whenShort: { accuracyMetres: 250 } } } } }
        """)
    let watch = hub.watch(["--every", "2", "--accuracy", "100", "--within", "60"])
    #expect(
      watch.prints(", 250 m accuracy (energy budget is short)"), "\(watch.standardError)")
    #expect(!watch.standardOutput.contains("every 2"), "\(watch.standardOutput)")
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `an event stream with an interval gets only the fixes, and the receiver sleeps in between`() {
    let hub = hub()
    #expect(hub.logs("dashboard on"))
    let client = SocketClient(port: http)
    client.send("GET /events?every=\(Self.week)&accuracy=100&within=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(client.receives(#""schedule":{"met":true,"#), "\(client.text)")
    #expect(hub.comesToRest())
    #expect(!client.text.contains("event: sky") && hub.devicesNow["imu"].wakes == 0)
    #expect(HTTPAnswer(http, "GET", "/devices").body.contains(#""schedules":[{"holder":"web 127.0.0.1:"#))
    client.leave()
    #expect(eventually { !hub.devicesText.contains("every 168 h") })
    #expect(hub.stop() == 0)
  }

  @Test func `a client can change from fixes to states, and an invalid request is refused`() {
    let hub = hub()
    let client = SocketClient(path: hub.socket)
    client.send(#"{"every": \#(Self.week), "accuracy": 100, "name": "log"}"# + "\n")
    #expect(eventually { client.text.contains(#""schedule":{"met":true,"#) && hub.isOff }, "\(client.text)")
    for (wrong, reason) in [
      (#"{"every": 60, "rateHz": 5}"#, "cannot be combined with 'rateHz'"), (#"{"accuracy": 10}"#, "needs 'every'"),
      (#"{"every": 0.5}"#, "'every' must be"), (#"{"every": 60, "within": 0}"#, "'within' must be"),
      (#"{"every": 60, "parts": ["position"]}"#, "cannot be combined with 'parts'"),
      (#"{"every": "often"}"#, "for regular fixes"),
    ] {
      let other = SocketClient(path: hub.socket)
      other.send(wrong + "\n")
      #expect(other.receives("\"class\":\"ERROR\"") && other.receives(reason), "\(other.text)")
      other.leave()
    }
    client.send(#"{"rateHz": 20}"# + "\n")
    #expect(eventually { client.text.split(separator: "\n").count > 10 }, "\(client.text)")
    #expect(eventually { hub.devicesNow["gps"].holders.contains { $0.hasPrefix("log[") } })
    #expect(eventually { hub.devicesNow["imu"].wakes > 0 })
    #expect(!hub.devicesText.contains("every 168 h"))
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `a request for a state up to a maximum age wakes devices once, and is then answered from memory`() {
    let hub = hub()
    #expect(hub.logs("dashboard on"))
    // A look without an age wakes nothing, and a page of another site is refused before anything is done.
    #expect(HTTPAnswer(http, "GET", "/state").status == 200)
    let foreign = HTTPAnswer(http, "GET", "/state?maxAge=0", ["Sec-Fetch-Site: cross-site"])
    #expect(foreign.status == 403)
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
    let first = HTTPAnswer(http, "GET", "/state?maxAge=3600&parts=position")
    #expect(first.status == 200 && first.body.contains(#""position":{"#), "\(first.head)\(first.body)")
    #expect(hub.devicesNow["gps"].wakes == 1 && hub.devicesNow["imu"].wakes == 0)
    #expect(hub.comesToRest())
    for path in ["/state?maxAge=3600&parts=position", "/state", "/state?maxAge=3600&accuracy=10000&parts=position"] {
      let again = HTTPAnswer(http, "GET", path)
      #expect(again.status == 200 && again.body.contains(#""position":{"#), "\(again.body)")
    }
    let watch = hub.watch(["--json", "--max-age", "3600", "--parts", "position"])
    #expect(watch.wait() == 0 && watch.standardOutput.contains(#""position":{"#), "\(watch.standardError)")
    let client = SocketClient(path: hub.socket)
    client.send(#"{"maxAge": 3600, "parts": ["position"], "name": "phone"}"# + "\n")
    #expect(client.receives(#""position":{"#), "\(client.text)")
    // A client that was delayed between connecting and requesting has woken everything first. Then there is another
    // chance.
    let wakes = hub.devicesNow["gps"].wakes
    #expect(wakes <= 3)
    let events = SocketClient(port: http)
    events.send("GET /events?maxAge=3600&parts=position HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(eventually { events.text.contains(#""position":{"#) }, "\(events.text)")
    #expect(hub.devicesNow["gps"].wakes == wakes)
    events.leave()
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `without a receiver, a request for fixes is refused with the next step`() {
    let hub = HubProcess(
      board: """
        { name: "test", devices: { imu: { driver: "mpu-6050", bus: "simulated/i2c" } }, http: { port: \(http) } }
        """)
    #expect(hub.logs("dashboard on"))
    let answer = HTTPAnswer(http, "GET", "/events?every=60")
    #expect(
      answer.status == 404 && answer.body.contains("this board has no fused receiver"), "\(answer.head)\(answer.body)")
    let client = SocketClient(path: hub.socket)
    client.send(#"{"every": 60, "name": "log"}"# + "\n")
    #expect(client.receives(#"{"class":"ERROR","message":"this board has no fused receiver"#))
    // The client may request other values in its place.
    client.send(#"{"rateHz": 20}"# + "\n")
    #expect(client.receives(#""attitude""#), "\(client.text)")
    let watch = hub.watch(["--every", "60"])
    #expect(watch.wait() == 69 && watch.standardError.contains("the hub has no receiver"), "\(watch.standardError)")
    #expect(hub.stop() == 0)
  }

  @Test(arguments: [
    (["--accuracy", "10"], "--accuracy needs --every"),
    (["--every", "60", "--rate", "2"], "cannot be combined with --rate"),
    (["--every", "60", "--once"], "cannot be combined"), (["--every", "0.5"], "--every must be from 1"),
    (["--every", "60", "--within", "0"], "--within must be from 1"), (["--every", "60", "--accuracy", "0"], "0.1"),
    (["--distance", "0"], "--distance must be a number from 0.1"), (["--max-age", "30", "--rate", "1"], "--max-age"),
    (["--error", "25", "--every", "60"], "cannot be combined with 'error'"),
    (["--once", "--batch", "5"], "cannot be combined with --distance"),
  ])
  func `watch reports a request that cannot be met`(_ arguments: [String], _ message: String) {
    let watch = Program(["watch"] + arguments)
    #expect(watch.wait() == 64 && watch.standardError.contains(message), "\(watch.standardError)")
  }
}

extension HubProcess {
  /// The output of `sensorhub devices`.
  fileprivate var devicesText: String {
    let program = Program(["devices", "--verbose", "--socket", socket])
    program.wait()
    return program.standardOutput
  }
}
