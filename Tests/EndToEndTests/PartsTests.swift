import Glibc
import MonotonicTime
import TestSupport
import Testing

@testable import Outputs

/// Subscriptions to parts of the state, on every port.
@Suite(.serialized, .timeLimit(.minutes(10))) struct PartsTests {
  private let http = SocketClient.freePort()
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()

  private func hub() -> HubProcess {
    HubProcess(
      board: HubProcess.simulatedBoard(
        """
        http: { port: \(http) }, gpsd: { port: \(gpsd), parts: ["position"] },
        nmea: { port: \(nmea), source: "fused", rateHz: 10, sentences: ["XDR"], parts: ["attitude"] }
        """))
  }

  @Test func `a request for attitudes wakes only the IMU, for events, sentences and states`() {
    let hub = hub()
    let events = SocketClient(port: http)
    events.send("GET /events?parts=attitude,rates&rate=20 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(eventually { events.text.split(separator: "\"attitude\":{").count > 10 }, "\(events.text.prefix(400))")
    let plotter = SocketClient(port: nmea)
    #expect(eventually { plotter.text.split(separator: "XDR,").count > 5 }, "\(plotter.text)")
    #expect(hub.devicesNow["gps"].wakes == 0 && hub.devicesNow["gps"].power == "off")
    #expect(hub.devicesNow["imu"].wakes == 1)
    #expect(hub.devicesNow["imu"].holders.contains { $0.hasPrefix("web ") && $0.hasSuffix("(attitude, rates)") })
    #expect(!events.text.contains("\"position\":"))
    events.leave()
    plotter.leave()
    #expect(hub.comesToRest())
    let watch = hub.watch(["--json", "--parts", "attitude"])
    #expect(eventually { hub.devicesNow["imu"].holders.contains { $0.hasSuffix("(attitude)") } })
    #expect(eventually { watch.lines.count > 10 && hub.devicesNow["gps"].power == "off" })
    watch.send(SIGINT)
    watch.wait()
    #expect(hub.stop() == 0)
  }

  @Test func `a request for positions wakes only the receiver, and includes the attitude while the IMU is awake`() {
    let hub = hub()
    let client = SocketClient(port: gpsd)
    client.send("?WATCH={\"enable\":true,\"json\":true}\n")
    #expect(client.receives("\"mode\":3"), "\(client.text)")
    #expect(hub.devicesNow["imu"].wakes == 0 && !client.text.contains("\"class\":\"ATT\""))
    let plotter = SocketClient(port: nmea)
    #expect(client.receives("\"class\":\"ATT\""), "\(client.text)")
    #expect(hub.devicesNow["gps"].wakes == 1 && hub.devicesNow["imu"].wakes == 1)
    client.leave()
    plotter.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `a client whose socket has a name may take longer than others to send its request`() {
    let board = HubProcess.simulatedBoard("")
    let clock = MonotonicClock()
    var tries = 0
    let wereMade = eventually {
      let (hub, other) = (HubProcess(board: board), HubProcess(board: board))
      let start = clock.now
      let client = SocketClient(path: hub.socket, isNamed: true)
      // A client of another hub connects later and sends no request. Meanwhile it gets everything.
      let mute = SocketClient(path: other.socket)
      let isServed = eventually { other.devicesNow["gps"].wakes > 0 }
      client.send("{\"parts\": [\"attitude\"]}\n")
      let duration = clock.now - start
      #expect(isServed && client.receives("\"attitude\":{"))
      // A machine that was delayed for too long proves nothing.
      if duration < StreamClient.hearing {
        tries += 1
        #expect(hub.devicesNow["gps"].wakes == 0 && hub.devicesNow["imu"].wakes == 1)
      }
      mute.leave()
      #expect(hub.stop() == 0)
      return tries == 3
    }
    #expect(wereMade)
  }

  @Test(arguments: ["attitude,longitude", "", "attitude,"])
  func `an unknown part is refused, with a list of the existing ones`(_ parts: String) {
    let hub = hub()
    let events = SocketClient(port: http)
    events.send("GET /events?parts=\(parts) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(
      eventually { events.text.contains("400 Bad Request") && events.text.contains("position, altitude, motion, time") }
    )
    let watch = hub.watch(["--parts", parts])
    #expect(watch.wait() == 64)
    #expect(
      watch.standardError.contains("--parts must be a list of position, altitude, motion, time"),
      "\(watch.standardError)"
    )
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
    #expect(hub.stop() == 0)
  }

  @Test func `an invalid request wakes no device`() {
    let hub = hub()
    // A client that is delayed between connecting and sending has not made its request yet, and then everything is
    // woken.
    let isQuiet = (0..<5).contains { _ in
      let before = hub.devicesNow["gps"].wakes
      let client = SocketClient(path: hub.socket)
      client.send("{\"parts\": [\"longitude\"]}\n")
      #expect(client.receives("\"class\":\"ERROR\"") && client.receives("satellites, attitude"))
      // The test waits for longer than that would take.
      #expect(hub.watch(["--once", "--parts", "attitude"]).wait() == 0)
      client.leave()
      return hub.devicesNow["gps"].wakes == before
    }
    #expect(isQuiet)
    #expect(hub.stop() == 0)
  }

  @Test func `a request changes only the values that it names`() {
    let hub = hub()
    let client = SocketClient(path: hub.socket)
    client.send("{\"parts\": [\"attitude\"], \"name\": \"level\"}\n")
    #expect(eventually { hub.devicesNow["imu"].holders.contains { $0.hasPrefix("level[") } })
    client.send("{\"rateHz\": 2}\n")
    client.forget()
    #expect(eventually { client.text.split(separator: "\n").count > 3 })
    let holders = hub.devicesNow["imu"].holders
    #expect(holders.count == 1 && holders[0].hasPrefix("level[") && holders[0].hasSuffix("(attitude)"), "\(holders)")
    #expect(hub.shows("gps", "off"))
    client.leave()
    #expect(hub.stop() == 0)
  }

  @Test func `a gpsd client is disconnected when a reload changes the parts it gets`() {
    let hub = hub()
    let client = SocketClient(port: gpsd)
    client.send("?WATCH={\"enable\":true,\"json\":true}\n")
    #expect(eventually { hub.devicesNow["gps"].holders.contains { $0.hasSuffix("(position)") } })
    HubProcess.write(HubProcess.simulatedBoard("gpsd: { port: \(gpsd) }"), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(eventually { !client.isOpen })
    let next = SocketClient(port: gpsd)
    next.send("?WATCH={\"enable\":true,\"json\":true}\n")
    #expect(eventually { hub.devicesNow["imu"].power == "tracking" && hub.devicesNow["gps"].power == "tracking" })
    next.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }

  @Test func `gpsd clients see only the fused devices, and cannot watch another one`() {
    let terminal = PseudoTerminal()
    let board = """
      { name: "two", gpsd: { port: \(gpsd) }, devices: {
          gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated", line: "gps-power" } },
          boat: { driver: "nmea", port: "\(terminal.path)" } }, fusion: { devices: ["gps"] } }
      """
    let hub = HubProcess(board: board)
    let client = SocketClient(port: gpsd)
    client.send("?DEVICES;\n?WATCH={\"enable\":true,\"json\":true,\"device\":\"\(terminal.path)\"}\n")
    #expect(client.receives("\"class\":\"ERROR\""), "\(client.text)")
    #expect(client.text.contains("\"path\":\"simulated/gps\""))
    #expect(!client.text.contains("\"path\":\"\(terminal.path)\""))
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
    client.leave()
    #expect(hub.stop() == 0)
  }
}
