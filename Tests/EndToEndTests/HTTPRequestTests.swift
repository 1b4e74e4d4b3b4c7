import TestSupport
import Testing

/// Tests of the web port with one request each, on one hub. No request may wake a device.
@Suite(.sharesFixtures, .timeLimit(.minutes(10))) struct HTTPRequestTests {
  /// A hub with a second name.
  private final class NamedHub: SharedFixture, @unchecked Sendable {
    // Unchecked, and safe: all properties of a `HubProcess` are constants of types that are `Sendable`.
    let hub: HubProcess
    let port = SocketClient.freePort()

    init() {
      hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port), hosts: [\"hub.example\"] }"))
      _ = hub.logs("dashboard on")
    }
  }

  private let hub: HubProcess
  private let port: UInt16

  init() throws {
    let shared = try NamedHub.shared()
    (hub, port) = (shared.hub, shared.port)
  }

  @Test(arguments: [
    ("/", "text/html", "<title>test"), ("/dashboard.css", "text/css", "color-scheme"),
    ("/dashboard.js", "text/javascript", "EventSource"), ("/openapi.yaml", "application/yaml", "openapi: 3.1"),
    ("/grafana.json", "application/json", "\"title\": \"SensorHub\""),
    ("/holds", "application/json", "\"holds\":[]"),
    ("/state", "application/json", "\"mode\":\"none\""), ("/devices", "application/json", "\"class\":\"DEVICES\""),
    ("/metrics", "text/plain; version=0.0.4", "sensorhub_device_wakes_total{device=\"gps\"} 0"),
    ("/healthz", "text/plain", "ok"),
  ])
  func `reading over HTTP wakes no device`(_ path: String, _ type: String, _ content: String) {
    let answer = HTTPAnswer(port, "GET", path)
    #expect(answer.status == 200)
    #expect(answer.head.contains("Content-Type: \(type)"))
    #expect(answer.body.contains(content), "\(answer.body.prefix(400))")
    #expect(HTTPAnswer(port, "HEAD", path).status == 200)
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
  }

  /// Method, path, headers, status, and a part of the answer's body.
  private typealias Answered = (String, String, String, Int, String)

  // The type is stated because inferring it takes the compiler too long.
  private static let answered: [Answered] = [
    ("GET", "/nothing", "", 404, "/openapi.yaml lists all paths"),
    ("GET", "/state?part=attitude", "", 400, "'part' is not a parameter of this path; did you mean 'parts'?"),
    ("GET", "/devices?id=gps", "", 400, "takes no parameters"), ("GET", "/metrics?x", "", 400, "takes no parameters"),
    ("GET", "/holds?device=gps", "", 400, "takes no parameters"),
    ("POST", "/devices/gps/release?holds=x", "", 400, "did you mean 'hold'?"),
    ("GET", "/?campaign=x", "", 200, "dashboard"), ("GET", "/dashboard.js?v=2", "", 200, "EventSource"),
    ("GET", "/events?rate=0", "", 400, "'rate' must be a number from 0.01 to 1000"),
    ("GET", "/events?accuracy=10", "", 400, "needs 'every'"),
    ("GET", "/events?every=60&rate=2", "", 400, "cannot be combined with 'rateHz'"),
    ("GET", "/state?parts=attitude", "", 400, "needs 'maxAge'"),
    ("GET", "/state?maxAge=-1", "", 400, "'maxAge' must be a number from 0"),
    ("GET", "/state?maxAge=30&every=60", "", 400, "'every' is not a parameter of this path"),
    ("GET", "/events?distance=0", "", 400, "'distance' must be a number from 0.1"),
    ("GET", "/state?maxAge=30", "Sec-Fetch-Site: cross-site", 403, "other sites"),
    ("GET", "/state?maxAge=30", "Host: localhost\r\nOrigin: http://evil.example", 403, "other sites"),
    ("GET", "/events?every=0.5", "", 400, "'every' must be a number from 1 to 604800"),
    ("GET", "/events?rate=fast", "", 400, "'rate'"), ("POST", "/devices/gps/hold?for=0", "", 400, "'for' must be"),
    ("POST", "/devices/radar/hold", "", 404, "valid ones are gps, imu"),
    ("GET", "/devices/gps/hold", "", 405, "this path accepts POST"),
    ("GET", "/state", "Host: evil.example", 421, "add the name to http.hosts"),
    ("GET", "/state", "Host: evil.example:80", 421, ""), ("GET", "/state", "Host: hub.example", 200, ""),
    ("GET", "/state", "Host: localhost:8080@evil.example", 400, "the Host header"),
    ("GET", "/state", "Host: [::1", 400, "the Host header"), ("GET", "/state", "Host: [::1]x", 400, "the Host header"),
    ("GET", "/state", "Host: localhost:", 200, ""),
    ("GET", "/state", "Host: 192.168.1.7:8080", 200, ""), ("GET", "/state", "Host: [::1]:8080", 200, ""),
    ("POST", "/devices/gps/hold", "Host: localhost\r\nOrigin: http://evil.example", 403, "other sites"),
    ("GET", "/events", "Host: localhost\r\nOrigin: null", 403, ""),
    ("GET", "/events", "Sec-Fetch-Site: cross-site", 403, "other sites"),
    ("GET", "/events", "Sec-Fetch-Site: same-site", 403, ""), ("GET", "/state", "Sec-Fetch-Site: same-origin", 200, ""),
    ("GET", "/", "Sec-Fetch-Site: cross-site", 200, "dashboard"),
    ("POST", "/devices/gps/release?hold=x", "Host: localhost\r\nOrigin: http://localhost", 404, "no hold 'x'"),
  ]

  @Test(arguments: answered)
  func `a request is answered, or refused with a reason`(
    _ method: String, _ path: String, _ headers: String, _ status: Int, _ message: String
  ) {
    let answer = HTTPAnswer(port, method, path, headers.isEmpty ? [] : [headers])
    #expect(answer.status == status)
    #expect(answer.body.contains(message), "\(answer.body)")
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
  }

  @Test func `a request that never ends is closed`() {
    let slow = SocketClient(port: port)
    slow.send("GET /state HTTP/1.1\r\n")
    // A client that sends a few letters of a header now and then keeps its connection busy without a request, and never
    // reaches the size limit. The hub closes the connection after half a minute.
    for number in 1...40 {
      slow.send("X-\(number): b\r\n")
      if eventually(within: .seconds(3), { !slow.isOpen }) { break }
    }
    #expect(!slow.isOpen)
    #expect(!slow.text.contains("400"))
  }
}
