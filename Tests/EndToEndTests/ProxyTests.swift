import Glibc
import TestSupport
import Testing

private let nginx = "/usr/sbin/nginx"

/// The web port behind a reverse proxy: Debian's nginx, with the configuration from the documentation.
@Suite(.serialized, .timeLimit(.minutes(10)))
struct ProxyTests {
  private let hubPort = SocketClient.freePort()
  private let port = SocketClient.freePort()
  private let hub: HubProcess

  init() {
    hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(hubPort), hosts: [\"hub.example\"] }"))
    let hub = hub
    _ = hub.logs("dashboard on")
  }

  /// The configuration lines as printed in the hub's documentation.
  private func documentedLines() -> String {
    let text = HTTPAnswer(hubPort, "GET", "/openapi.yaml").body
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).drop { !$0.contains("location / {") }
    return lines.prefix { !$0.hasSuffix(" }") }.joined(separator: "\n") + "\n}"
  }

  private func withProxy(_ location: String, _ body: () throws -> Void) rethrows {
    let folder = hub.boardFile + ".nginx"
    mkdir(folder, 0o755)
    let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map {
      "\($0)_temp_path \(folder)/\($0);"
    }.joined(separator: "\n")
    HubProcess.write(
      """
      daemon off; master_process off; pid \(folder)/pid; error_log stderr;
      events {}
      http { access_log off; \(temporary)
        server { listen 127.0.0.1:\(port);
      \(location.replacing("127.0.0.1:8080", with: "127.0.0.1:\(hubPort)"))
        } }
      """, to: folder + "/nginx.conf")
    let program = Program(["-e", "stderr", "-p", folder, "-c", folder + "/nginx.conf"], path: nginx)
    defer {
      program.send(SIGTERM)
      program.wait()
      TemporaryFolder.remove(folder)
    }
    #expect(eventually { SocketClient.isListening(port) || !program.isRunning }, "\(program.standardError)")
    try body()
  }

  private func ask(_ method: String, _ path: String, _ headers: [String] = []) -> HTTPAnswer {
    HTTPAnswer(port, method, path, headers, host: "hub.example:\(port)")
  }

  @Test func `with the documented proxy configuration, the page, its events and its holds work`() {
    let lines = documentedLines()
    #expect(lines.contains("proxy_pass http://127.0.0.1:8080;"), "\(lines)")
    withProxy(lines) {
      #expect(ask("GET", "/").body.contains("<title>test"))
      let origin = "Origin: http://hub.example:\(port)"
      let hold = ask("POST", "/devices/imu/hold?for=60", [origin, "Sec-Fetch-Site: same-origin"])
      #expect(hold.status == 200, "\(hold.head) \(hold.body)")
      #expect(hub.shows("imu", "tracking"))
      let id = hold.body.split(separator: "\"id\":\"").dropFirst().first.map { $0.prefix { $0 != "\"" } } ?? ""
      #expect(ask("POST", "/devices/imu/release?hold=\(id)", [origin]).status == 200)
      #expect(ask("POST", "/devices/imu/hold", ["Origin: http://evil.example"]).status == 403)
      // Each event is passed on at once and not collected.
      let stream = SocketClient(port: port)
      stream.send("GET /events?rate=1 HTTP/1.1\r\nHost: hub.example:\(port)\r\n\r\n")
      #expect(stream.receives("retry: 2000"))
      #expect(stream.receives("\"mode\":"))
      stream.leave()
      #expect(hub.comesToRest())
    }
  }

  @Test func `behind a proxy that does not forward the Host header, a refused request says so`() {
    withProxy("location / { proxy_pass http://127.0.0.1:8080; }") {
      #expect(ask("GET", "/state").status == 200)
      let refusal = ask("POST", "/devices/imu/hold", ["Origin: http://hub.example:\(port)"])
      #expect(refusal.status == 403 && refusal.body.contains("forward the Host header"), "\(refusal.body)")
      #expect(hub.devicesNow["imu"].wakes == 0)
    }
  }
}
