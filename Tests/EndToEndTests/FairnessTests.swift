import FoundationEssentials
import Glibc
import MonotonicTime
import TestSupport
import Testing

/// No client can take anything away from the other clients.
@Suite(.serialized, .timeLimit(.minutes(10))) struct FairnessTests {
  private let gpsd = SocketClient.freePort()
  private let nmea = SocketClient.freePort()
  private let web = SocketClient.freePort()
  private static let watch = "?WATCH={\"enable\":true,\"json\":true};"

  private var board: String {
    HubProcess.simulatedBoard("gpsd: { port: \(gpsd) }, nmea: { port: \(nmea) }, http: { port: \(web) }")
  }

  private func metric(_ name: String) -> Int? {
    HTTPAnswer(web, "GET", "/metrics").body.split(separator: "\n").first { $0.hasPrefix(name) }?
      .split(separator: " ").last.flatMap { Int($0) }
  }

  private func lines(_ text: String, _ part: String) -> [Substring] {
    text.split(separator: "\n").filter { $0.contains(part) }
  }

  // MARK: Slots

  @Test
  func `eleven hundred connections of one idle machine do not lock out other machines, and cause one line in the log`()
  {
    WireClient.allowCrowds()
    let hub = HubProcess(board: board)
    #expect(hub.logs("dashboard on"))
    let begun = MonotonicClock().now
    let idle = (0..<1120).map { _ in WireClient(port: gpsd, from: [127, 0, 0, 2]) }
    let devices = Program(["devices", "--verbose", "--socket", hub.socket])
    #expect(devices.wait() == 0, "\(devices.standardError)")
    #expect(devices.standardOutput.contains("held by  no client"))
    // The others connect from another machine, from the same one, and to another port.
    let others = [WireClient(port: gpsd), WireClient(port: gpsd, from: [127, 0, 0, 2])]
    for client in others { client.send(FairnessTests.watch) }
    let plotter = WireClient(port: nmea, from: [127, 0, 0, 2])
    for client in others { #expect(client.receives("\"mode\":3"), "\(client.text)") }
    #expect(plotter.receives("$GNGGA,"))
    let refused = metric("sensorhub_output_refused_clients_total{output=\"gpsd\"}")
    #expect((refused ?? 0) >= 1120 - 256, "\(String(describing: refused))")
    // The port has accepted these before the others, which have been served.
    #expect(idle.count(where: \.isOpen) <= 256)
    #expect(metric("sensorhub_output_clients{output=\"gpsd\"}") ?? 0 <= 258)
    // The log is written a moment later.
    #expect(hub.logs("refused"))
    let written = lines(hub.program.standardError, "refused").count
    // There is one line each minute, and one that sums up the others at its end.
    let minutes = Int((MonotonicClock().now - begun) / Duration.seconds(60))
    #expect(written <= 1 + 2 * minutes, "\(hub.program.standardError.suffix(2000))")
    #expect(hub.stop() == 0)
  }

  @Test func `a machine of active clients is limited to its share, and the rest stays free for others`() {
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("gpsd: { port: \(gpsd), clients: 8 }, nmea: { port: \(nmea), clients: 8 }"))
    let greedy = (0..<8).map { _ in WireClient(port: nmea, from: [127, 0, 0, 2]) }
    #expect(eventually { greedy.count(where: \.isOpen) == 4 && hub.devicesNow["gps"].holders.count == 4 })
    let plotter = WireClient(port: nmea)
    #expect(plotter.receives("$GNGGA,"))
    #expect(hub.logs("is refused: its machine has 4 connections"))
    #expect(lines(hub.program.standardError, "is refused: its machine has 4 connections").count == 1)
    #expect(hub.stop() == 0)
  }

  @Test func `with few file descriptors, the outputs share them and the Unix sockets always answer`() {
    WireClient.allowCrowds()
    let hub = ShellHub("ulimit -n 256; exec \"$@\"", board: board)
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    // Each of them sends a request, so that none has to make room; they come from enough machines to fill each port.
    let crowd = [gpsd, nmea].flatMap { port in
      (0..<300).map { index in WireClient(port: port, from: [127, 0, 1, UInt8(index % 50)]) }
    }
    for client in crowd { client.send("?POLL;") }
    for _ in 0..<20 { #expect(hub.devices?.devices.count == 2) }
    let watch = Program(["watch", "--once", "--socket", hub.socket])
    #expect(watch.wait() == 0, "\(watch.standardError)")
    #expect(HTTPAnswer(web, "GET", "/healthz").body == "ok\n")
    // A port accepts these clients after the crowd. They are served or refused.
    for (port, greeting) in [(gpsd, "VERSION"), (nmea, "$G")] {
      let last = WireClient(port: port, from: [127, 0, 2, 1])
      #expect(last.receives(greeting) || !last.isOpen)
    }
    #expect(crowd.count(where: \.isOpen) <= 64, "\(crowd.count(where: \.isOpen))")
    hub.program.send(SIGTERM)
    #expect(hub.program.wait() == 0)
  }

  @Test func `a client's misleading name is shown quoted and escaped`() {
    let hub = HubProcess(board: board)
    #expect(hub.logs("dashboard on"))
    let client = SocketClient(path: hub.socket)
    client.send(#"{"name": "held for 127.0.0.1, x\n12:00:00 error: gps: failed \u001b[2J\u202e"}"# + "\n")
    let shown = "\"held for 127.0.0.1, x\\n12:00:00 error:\"[\(getpid())]"
    // The hub answers only this line. The answer shows that the hub knows the client's name.
    client.send("nonsense\n")
    #expect(client.receives("ERROR"))
    #expect(hub.devicesNow["gps"].holders == [shown], "\(hub.devicesNow["gps"].holders)")
    let devices = Program(["devices", "--verbose", "--socket", hub.socket])
    devices.wait()
    #expect(devices.standardOutput.contains("held by  \(shown)\n"), "\(devices.standardOutput)")
    #expect(HTTPAnswer(web, "GET", "/devices").body.contains("held for 127.0.0.1, x\\\\n12:00:00 error:"))
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
    let log = hub.program.standardError
    #expect(!log.contains("\n12:00:00 error: gps"))
    #expect(log.unicodeScalars.allSatisfy { $0 == "\n" || $0.value >= 32 && $0.value != 0x202e })
  }

  @Test func `one program cannot use all connections, and a refused client gets the reason`() {
    WireClient.allowCrowds()
    let hub = HubProcess(board: board)
    let crowd = (0..<300).map { _ in SocketClient.connect(path: hub.socket) }
    defer { for descriptor in crowd { close(descriptor) } }
    // Connections beyond the client's share are told so, and closed.
    let last = SocketClient(path: hub.socket)
    #expect(last.waitsForEnd())
    #expect(last.text.hasPrefix("{\"class\":\"ERROR\",\"message\":\""), "\(last.text)")
    #expect(last.text.contains("connections, the maximum for one process"), "\(last.text)")
    let watch = Program(["watch", "--once", "--socket", hub.socket])
    #expect(watch.wait() == 0, "\(watch.standardError)")
    #expect(hub.stop() == 0)
  }

  // MARK: Frequent requests

  @Test func `a client that switches its watch on and off in a loop floods neither the log nor the hub`() {
    let hub = HubProcess(board: board)
    let good = WireClient(port: gpsd)
    good.send(FairnessTests.watch)
    #expect(good.receives("\"mode\":3"))
    good.send("?WATCH={\"enable\":false};")
    #expect(hub.comesToRest())
    let before = lines(hub.program.standardError, " gps: ").count
    let begun = MonotonicClock().now
    let restless = SocketClient(port: gpsd)
    let loop = Array(repeating: "?WATCH={\"enable\":true};?WATCH={\"enable\":false};", count: 2000).joined()
    restless.send(Array(loop.utf8.prefix(90_000)))
    // Other clients are served as usual.
    for _ in 0..<3 {
      let polling = WireClient(port: gpsd)
      polling.send(FairnessTests.watch)
      #expect(polling.receives("\"mode\":3"))
    }
    let written = lines(hub.program.standardError, " gps: ").count - before
    let answers = restless.text.split(separator: "\"class\":\"WATCH\"").count - 1
    // There are twelve lines in ten seconds, and one that sums up the others.
    let elapsed = MonotonicClock().now - begun
    let windows = Int(elapsed / Duration.seconds(10)) + 2
    #expect(written < 14 * windows, "\(written) lines about the receiver, \(answers) changes")
    // Some requests are answered at once, and then four a second.
    #expect(answers < 200 + Int(elapsed / Duration.milliseconds(200)), "\(answers) changes in \(elapsed)")
    #expect(hub.logs(" more changes within 10 s, now "))
    // A client that leaves is removed at once, whatever its pending requests.
    restless.leave()
    #expect(hub.comesToRest())
    #expect(hub.stop() == 0)
  }
}
