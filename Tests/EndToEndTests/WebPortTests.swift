import FoundationEssentials
import Glibc
import HardwareIO
import TestSupport
import Testing

/// The web port, with a single client that listens or requests information.
@Suite(.timeLimit(.minutes(10))) struct WebPortTests {
  private let port = SocketClient.freePort()

  private func hub(_ options: String = "", environment: [String] = []) -> HubProcess {
    let hub = HubProcess(
      board: HubProcess.simulatedBoard("http: { port: \(port), \(options) }"), environment: environment)
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    return hub
  }

  private func get(_ path: String, _ headers: [String] = []) -> HTTPAnswer { HTTPAnswer(port, "GET", path, headers) }

  private func events() -> SocketClient {
    let client = SocketClient(port: port)
    client.send("GET /events?rate=10 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client
  }

  @Test func `a wrong token is reported and answered with a delay, a right one at once`() {
    let folder = TemporaryFolder("token")
    let file = folder.path + "/token"
    HubProcess.write("correct horse battery staple\n", to: file)
    chmod(file, 0o644)
    let hub = hub("tokenFile: \"\(file)\"")
    #expect(hub.program.standardError.contains("the token: every user here can read \(file)"))
    // This request is sent first and answered last. On a busy machine the other one may sometimes take as long.
    let isSlow = eventually {
      let guess = SocketClient(port: port)
      guess.send("GET /state HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer incorrect\r\n\r\n")
      let right = get("/devices", ["Authorization: Bearer correct horse battery staple"])
      let isFirst = guess.bytes.isEmpty
      #expect(right.status == 200)
      #expect(guess.receives("HTTP/1.1 401"))
      return isFirst
    }
    #expect(isSlow)
    #expect(
      hub.logs("warning: dashboard: 127.0.0.1:"),
      "\(hub.program.standardError)")
    #expect(hub.program.standardError.contains(" has sent a wrong token\n"))
    // A client without a token is asked for it at once, and is not logged.
    #expect(get("/state").status == 401)
    #expect(hub.stop() == 0)
  }

  @Test func `an open event stream wakes the devices, and closing it lets them sleep`() {
    let hub = hub()
    let client = events()
    #expect(client.receives("\"mode\":\"fused\"") && client.receives("event: sky\n"))
    #expect(client.text.contains("retry: 2000\n\n"))
    let devices = hub.devicesNow
    #expect(devices["gps"].holders.count == 1 && devices["gps"].holders == devices["imu"].holders)
    #expect(eventually { get("/state").body.contains("\"mode\":\"fused\"") })
    client.leave()
    #expect(hub.comesToRest())
    #expect(hub.devicesNow["gps"].wakes == 1)
    // The last known values stay, and show their age.
    #expect(get("/state").body.contains("\"position\":{\"lat\":52.51"))
    #expect(hub.stop() == 0)
  }

  @Test func `the page shows an epoch even if the receiver is awake only for its sentences`() {
    let nmea = SocketClient.freePort()
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }, nmea: { port: \(nmea) }"))
    let plotter = SocketClient(port: nmea)
    #expect(plotter.receives("GGA,"))
    #expect(eventually { get("/state").body.contains("\"mode\":\"gnss\"") })
    #expect(eventually { get("/metrics").body.contains("\nsensorhub_fix_mode 3\n") })
    #expect(get("/metrics").body.contains("\nsensorhub_position_latitude_degrees 52."))
    #expect(hub.devicesNow["imu"].wakes == 0)
    plotter.leave()
    #expect(hub.comesToRest())
    #expect(eventually { !get("/state").body.contains("\"mode\":\"gnss\"") })
    #expect(hub.stop() == 0)
  }

  @Test func `satellite values that the receiver does not state are omitted`() {
    let receiver = PseudoTerminal()
    let hub = HubProcess(
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "\(receiver.path)", power: { lingerSeconds: 0.2 } } },
          http: { port: \(port) } }
        """)
    let client = events()
    #expect(hub.shows("gps", "acquiring"))
    var second = 0
    #expect(
      eventually {
        second += 1
        let time = "12\(second / 600)\(second / 60 % 10)\(second % 60 / 10)\(second % 10).00"
        receiver.write(
          nmeaLine("GPRMC,\(time),A,5231.0000,N,01322.0000,E,1.0,45.0,211126,,,A")
            + nmeaLine("GPGGA,\(time),5231.0000,N,01322.0000,E,1,08,0.9,40.0,M,40.0,M,,")
            + nmeaLine("GPGSV,1,1,02,05,,,41,12,,,"))
        return client.text.contains("event: sky\n") && client.text.contains("\"PRN\":12,")
      })
    let sky = client.text.split(separator: "event: sky\n").dropFirst().first ?? ""
    #expect(sky.contains("\"ss\":41.0") && !sky.contains("\"az\"") && !sky.contains("\"ss\":0"), "\(sky)")
    #expect(hub.stop() == 0)
  }

  @Test func `clients on other machines need a token`() {
    let bare = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port), address: \"0.0.0.0\" }"))
    #expect(bare.logs("need a token"), "\(bare.program.standardError)")
    #expect(bare.stop() == 0)
    let folder = bare.boardFile + ".credentials"
    mkdir(folder, 0o700)
    HubProcess.write("correct horse battery staple\n", to: folder + "/http-token")
    defer {
      unlink(folder + "/http-token")
      rmdir(folder)
    }
    let hub = hub("address: \"0.0.0.0\"", environment: ["CREDENTIALS_DIRECTORY=\(folder)"])
    #expect(hub.logs("open to every machine, with the token"))
    #expect(get("/healthz").status == 200)
    let refusal = get("/state")
    #expect(refusal.status == 401 && refusal.head.contains("WWW-Authenticate: Basic realm=\"SensorHub\""))
    #expect(get("/state", ["Authorization: Bearer wrong horse battery staple"]).status == 401)
    #expect(get("/state", ["Authorization: Bearer correct horse battery stapl"]).status == 401)
    #expect(get("/state", ["Authorization: Bearer correct horse battery staple"]).status == 200)
    let password = Data("me:correct horse battery staple".utf8).base64EncodedString()
    #expect(get("/", ["Authorization: Basic \(password)"]).status == 200)
    #expect(!hub.program.standardError.contains("staple"))
    #expect(hub.stop() == 0)
  }

  /// The kernel's number of the socket that listens on the port; `nil` for none.
  private var listener: String? {
    let digits = String(port, radix: 16, uppercase: true)
    let place = "0100007F:" + String(repeating: "0", count: 4 - digits.count) + digits
    let table = (try? Files.bytes(of: "/proc/net/tcp")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    let sockets = table.split(separator: "\n").map { $0.split(separator: " ") }
    // The columns are the local address, the peer's one, and the state, which is 0A for listening.
    return sockets.first { $0.count > 9 && $0[1] == place && $0[3] == "0A" }.map { String($0[9]) }
  }

  @Test func `a reload that keeps the address keeps the port open, and its settings apply to every client`() {
    let folder = TemporaryFolder("token")
    let file = folder.path + "/token"
    HubProcess.write("correct horse battery staple\n", to: file)
    let hub = hub()
    let (client, idle, quiet) = (events(), SocketClient(port: port), SocketClient(port: port))
    #expect(client.receives("\"mode\":\"fused\""))
    idle.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(idle.receives("200 OK"))
    let socket = listener
    HubProcess.write(
      HubProcess.simulatedBoard("http: { port: \(port), tokenFile: \"\(file)\" }"), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs(", with the token"), "\(hub.program.standardError)")
    #expect(client.waitsForEnd() && idle.waitsForEnd())
    quiet.send("GET /state HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(quiet.receives("401 Unauthorized"))
    #expect(socket != nil && listener == socket)
    #expect(get("/state").status == 401)
    #expect(get("/state", ["Authorization: Bearer correct horse battery staple"]).status == 200)
    #expect(hub.stop() == 0)
  }

  @Test func `a reload can move the web port`() {
    let hub = hub()
    let client = events()
    #expect(client.receives("\"mode\":\"fused\""))
    let moved = SocketClient.freePort()
    HubProcess.write(HubProcess.simulatedBoard("http: { port: \(moved) }"), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("dashboard on http://127.0.0.1:\(moved)"))
    #expect(HTTPAnswer(moved, "GET", "/healthz").status == 200)
    #expect(client.waitsForEnd())
    let second = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(moved) }"))
    #expect(second.logs("another program listens on 127.0.0.1:\(moved)"))
    // Once the port is free, a reload opens it.
    #expect(hub.stop() == 0)
    second.program.send(SIGHUP)
    #expect(second.logs("dashboard on http://127.0.0.1:\(moved)"))
    #expect(HTTPAnswer(moved, "GET", "/healthz").status == 200)
    #expect(second.stop() == 0)
  }
}
