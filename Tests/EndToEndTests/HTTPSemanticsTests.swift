import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Methods, paths, conditions and encodings as RFC 9110 defines them.
@Suite(.sharesFixtures, .timeLimit(.minutes(10))) struct HTTPSemanticsTests {
  private let port: UInt16
  /// No test wakes its inertial sensor.
  private let hub: HubProcess

  init() throws {
    let shared = try SharedHub.shared()
    (hub, port) = (shared.hub, shared.port)
  }

  private func get(_ path: String, _ headers: [String] = []) -> HTTPAnswer { HTTPAnswer(port, "GET", path, headers) }

  @Test(arguments: [
    ("POST", "/state", "GET, HEAD"), ("DELETE", "/", "GET, HEAD"), ("PUT", "/dashboard.js", "GET, HEAD"),
    ("GET", "/devices/gps/hold", "POST"), ("PATCH", "/devices/imu/release", "POST"),
  ])
  func `an unsupported method on a path is refused with the supported ones`(
    _ method: String, _ path: String, _ allowed: String
  ) {
    let answer = HTTPAnswer(port, method, path)
    #expect(answer.status == 405)
    #expect(answer.head.split(whereSeparator: \.isNewline).contains("Allow: \(allowed)"), "\(answer.head)")
    #expect(answer.head.contains("Content-Type: application/json") && answer.body.contains("\"message\":"))
  }

  @Test func `a missing resource is answered in JSON`() throws {
    struct Refusal: Decodable {
      struct Reason: Decodable { var message: String }
      var error: Reason
    }
    for path in ["/nothing", "/devices/gps", "/state/x", "/..%2fetc/passwd", "/%zz"] {
      let answer = get(path)
      #expect(answer.status == 404, "\(path)")
      let refusal = try JSONDecoder().decode(Refusal.self, from: Data(answer.body.utf8))
      #expect(refusal.error.message.contains("/openapi.yaml"))
      // The text is as a reader of a terminal sees it.
      #expect(answer.body.contains("; /openapi.yaml") && answer.body.hasSuffix("}\n"), "\(answer.body)")
    }
  }

  @Test func `a request with two Host headers is refused`() {
    for second in ["localhost", "evil.example"] {
      let answer = get("/state", ["Host: localhost", "Host: \(second)"])
      #expect(answer.status == 400)
    }
  }

  @Test(arguments: [
    ("GET", "/%73tate", 200), ("GET", "/he%61lthz", 200), ("POST", "/devices/%67p%73/hold?for=1", 200),
    ("POST", "/devices/imu%2Fx/hold", 404), ("GET", "/devices%2Fgps", 404), ("GET", "/%2e%2e/state", 404),
  ])
  func `a path may be percent-encoded`(_ method: String, _ path: String, _ status: Int) {
    #expect(HTTPAnswer(port, method, path).status == status)
  }

  @Test(arguments: [
    "rate=1&rate=2", "rate=0x10", "rate=inf", "rate=nan", "rate=1e1", "rate=%2B5", "rate=+5", "rate=-1", "rate=.5",
    "rate=5.", "rate=", "rate=1001", "rate=0.001", "rate=1%00",
  ])
  func `a rate is one decimal number`(_ query: String) {
    let answer = get("/events?\(query)")
    #expect(answer.status == 400 && answer.body.contains("'rate'"), "\(answer.head) \(answer.body)")
    #expect(hub.devicesNow["imu"].wakes == 0)
  }

  @Test(arguments: [
    ("GET", "/events?part=attitude", "'part' is not a parameter of this path; did you mean 'parts'?"),
    ("GET", "/events?ratehz=2", "did you mean 'rateHz'?"),
    ("POST", "/devices/imu/hold?four=1", "did you mean 'for'?"),
  ])
  func `an unknown word in a query is refused, and wakes no device`(_ method: String, _ path: String, _ text: String) {
    let answer = HTTPAnswer(port, method, path)
    #expect(answer.status == 400 && answer.body.contains(text), "\(answer.head) \(answer.body)")
    #expect(hub.devicesNow["imu"].wakes == 0)
  }

  @Test func `satellites are sent no more often than requested`() {
    func skies(_ client: SocketClient) -> Int { client.text.split(separator: "event: sky\n").count - 1 }
    // The streams wake both devices, so the hub is not the shared one.
    let port = SocketClient.freePort()
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }, state: { rateHz: 50 }"))
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    let often = SocketClient(port: port)
    often.send("GET /events?rate=10 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    let seldom = SocketClient(port: port)
    seldom.send("GET /events?rate=0.2 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(eventually { skies(often) > 0 && skies(seldom) > 0 })
    // A list of satellites comes each second by the receiver's own clock. The client with the low rate gets the first
    // list and then one in five. The other client connected earlier, so it has a list for each second of that time.
    let before = skies(often)
    #expect(eventually { skies(often) > before + 5 })
    let count = skies(seldom)
    let seconds = skies(often)
    #expect(count <= 2 + seconds / 5, "\(count) in the time of \(seconds)")
    #expect(seldom.text.contains("X-Accel-Buffering: no\r\n"))
    #expect(hub.stop() == 0)
  }

  @Test(arguments: ["/", "/dashboard.css", "/dashboard.js", "/openapi.yaml", "/grafana.json"])
  func `unchanged data is not sent again`(_ path: String) throws {
    let whole = get(path)
    let tag = try #require(whole.head.split(separator: "ETag: ").dropFirst().first.map { $0.prefix { !$0.isNewline } })
    for known in ["\(tag)", "W/\(tag)", "\"other\", \(tag)", "*"] {
      let answer = get(path, ["If-None-Match: \(known)"])
      #expect(answer.status == 304 && answer.body.isEmpty && answer.head.contains("ETag: \(tag)"), "\(known)")
    }
    #expect(get(path, ["If-None-Match: \"other\""]).status == 200)
    // The same document, compressed, is another form of it.
    let compressed = get(path, ["Accept-Encoding: gzip"])
    #expect(compressed.head.contains("Content-Encoding: gzip") && !compressed.head.contains("ETag: \(tag)"))
    #expect(get(path, ["Accept-Encoding: gzip", "If-None-Match: \(tag)"]).status == 304)
    #expect(HTTPAnswer(port, "HEAD", path, ["If-None-Match: \(tag)"]).status == 304)
  }

  @Test func `large answers are compressed for clients that accept this`() {
    for path in ["/", "/dashboard.js", "/grafana.json", "/openapi.yaml", "/metrics"] {
      let size = get(path).bodyByteCount
      let compressed = get(path, ["Accept-Encoding: gzip"]).bodyByteCount
      #expect(compressed > 0 && compressed * 2 < size, "\(path): \(size), \(compressed)")
    }
    // Curl decompresses the answers, and writes them one after the other.
    let paths = ["/", "/dashboard.js", "/dashboard.css"]
    let curl = Program(["-s", "--compressed"] + paths.map { "http://localhost:\(port)\($0)" }, path: "/usr/bin/curl")
    #expect(curl.wait() == 0)
    #expect(curl.standardOutput == paths.map { get($0).body }.joined())
    for refusal in ["identity", "gzip;q=0", "br", "*;q=0"] {
      #expect(!get("/dashboard.js", ["Accept-Encoding: \(refusal)"]).head.contains("Content-Encoding"), "\(refusal)")
    }
    #expect(!get("/healthz", ["Accept-Encoding: gzip"]).head.contains("Content-Encoding"))
    #expect(get("/dashboard.js").head.contains("Vary: Accept-Encoding"))
  }

  @Test func `with a configured map, the tile server gets the referrer, and the page shows the credit`() {
    #expect(get("/").head.contains("Referrer-Policy: no-referrer"))
    let maps = [
      ("tiles: \"https://tile.openstreetmap.org/{z}/{x}/{y}.png\"", "© OpenStreetMap contributors"),
      ("tiles: \"https://tiles.example/{z}/{x}/{y}.png\", attribution: \"© A < B\"", "© A &lt; B"),
    ]
    // One hub gets one board file after the other.
    let port = SocketClient.freePort()
    let boards = maps.map { HubProcess.simulatedBoard("http: { port: \(port), \($0.0) }") }
    let hub = HubProcess(board: boards[0])
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    for (board, (_, credit)) in zip(boards, maps) {
      if board != boards[0] {
        HubProcess.write(board, to: hub.boardFile)
        hub.program.send(SIGHUP)
      }
      var page = HTTPAnswer(port, "GET", "/")
      let shows = eventually {
        if !page.body.contains(credit) { page = HTTPAnswer(port, "GET", "/") }
        return page.body.contains(credit)
      }
      #expect(shows, "\(hub.program.standardError)")
      #expect(page.head.contains("Referrer-Policy: strict-origin-when-cross-origin"))
    }
    #expect(hub.stop() == 0)
  }
}
