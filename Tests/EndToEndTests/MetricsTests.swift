import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The metrics, and the Grafana dashboard that uses them.
@Suite(.serialized, .timeLimit(.minutes(10))) struct MetricsTests {
  private let port = SocketClient.freePort()

  private func hub(_ more: String = "") -> HubProcess {
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }\(more)"))
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    return hub
  }

  private func scrape() -> String { HTTPAnswer(port, "GET", "/metrics").body }

  private func value(_ name: String, in text: String) -> Double? {
    text.split(separator: "\n").first { $0.hasPrefix("sensorhub_\(name) ") || $0.hasPrefix("sensorhub_\(name){") }
      .flatMap { $0.split(separator: " ").last.flatMap { Double($0) } }
  }

  private func names(in text: String) -> Set<String> {
    Set(
      text.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init).filter { $0.hasPrefix("sensorhub_") })
  }

  @Test func `a metric is reported while its value is known, and omitted otherwise`() {
    let hub = hub()
    let asleep = scrape()
    #expect(asleep.contains("sensorhub_build_info{version=\"0.2.0\"} 1\n"))
    for gauge in ["position_latitude_degrees", "speed_meters_per_second", "fix_mode", "state_timestamp_seconds"] {
      #expect(value(gauge, in: asleep) == nil, "\(gauge)")
    }
    let stream = SocketClient(port: port)
    stream.send("GET /events?rate=10 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(stream.receives("\"mode\":\"fused\""))
    let awake = scrape()
    let now = Double(time(nil))
    #expect(value("position_latitude_degrees", in: awake).map { abs($0 - 52.51) < 0.02 } == true, "\(awake)")
    #expect(value("position_longitude_degrees", in: awake).map { abs($0 - 13.37) < 0.02 } == true)
    #expect(value("speed_meters_per_second", in: awake).map { (0...60).contains($0) } == true)
    #expect(value("fix_mode", in: awake) == 3)
    #expect(value("state_timestamp_seconds", in: awake).map { abs($0 - now) < 60 } == true)
    #expect(value("device_power_state_timestamp_seconds", in: awake).map { $0 <= now + 1 && $0 > now - 60 } == true)
    #expect(!awake.contains("_age_seconds"))
    stream.leave()
    #expect(hub.comesToRest())
    // The receiver's slowest reports are ten seconds apart; after that the value is unknown.
    #expect(eventually { value("position_latitude_degrees", in: scrape()) == nil })
    let after = scrape()
    #expect(value("fix_mode", in: after) == nil && value("speed_meters_per_second", in: after) == nil)
    #expect(value("state_timestamp_seconds", in: after) != nil)
  }

  @Test func `a client's name cannot make the metrics invalid`() throws {
    let hub = hub()
    let names = ["a\"\u{301}} 1\nb{c=\"", "\\\u{301}\"\u{200D}", "\u{600}\"", "\r\n\"", "d\u{301}\\"]
    let clients = try names.map { name in
      let client = SocketClient(path: hub.socket)
      let quoted = String(decoding: try JSONEncoder().encode(name), as: UTF8.self)
      client.send("{\"rateHz\": 5, \"name\": \(quoted)}\n")
      return client
    }
    // Each name begins with a quotation mark, which the format requires to be escaped.
    func payerCount() -> Int {
      Set(
        scrape().split(separator: "\n").compactMap {
          $0.split(separator: "device=\"gps\",payer=\"\\\"").dropFirst().first
        }
      )
      .count
    }
    #expect(eventually { payerCount() >= names.count }, "\(scrape())")
    let file = hub.boardFile + ".scrape"
    HubProcess.write(scrape(), to: file)
    defer { unlink(file) }
    let promtool = try #require(TestTools.path("promtool"), "run .ci/test-tools")
    let checker = Program(["-c", "\(promtool) check metrics < \(file)"], path: "/bin/sh")
    #expect(checker.wait() == 0, "\(checker.standardOutput)\(checker.standardError)")
    for client in clients { client.leave() }
  }

  @Test func `the Grafana dashboard queries only existing metrics, with valid expressions`() throws {
    struct Dashboard: Decodable {
      struct Panel: Decodable {
        struct Target: Decodable { var expr: String }
        var title: String
        var targets: [Target]
      }
      var panels: [Panel]
    }
    // A client that waits for time messages causes a comparison with the system clock, whether or not it accepts the
    // time.
    let hub = hub(", chrony: { socket: \"/nowhere/chrony.sock\" }")
    let file = HTTPAnswer(port, "GET", "/grafana.json").body
    let dashboard = try JSONDecoder().decode(Dashboard.self, from: Data(file.utf8))
    #expect(dashboard.panels.count > 10 && dashboard.panels.allSatisfy { !$0.targets.isEmpty })
    // The hub is asked while it has all metrics: a clock comparison requires a client of the time.
    let stream = SocketClient(port: port)
    stream.send("GET /events?rate=10 HTTP/1.1\r\nHost: localhost\r\n\r\n")
    // The metrics of a pulse need a kernel device, which the test lacks.
    let wanted = names(in: dashboard.panels.flatMap(\.targets).map(\.expr).joined(separator: "\n"))
      .subtracting(["sensorhub_pulse_jitter_seconds"])
    let missing = { wanted.subtracting(names(in: HTTPAnswer(port, "GET", "/metrics").body)) }
    #expect(eventually { missing().isEmpty }, "\(missing())")
    let rules = dashboard.panels.flatMap(\.targets).enumerated().map { index, target in
      let expression = target.expr.replacing("$__rate_interval", with: "1m").replacing("$instance", with: ".*")
      return "  - record: panel:\(index)\n    expr: '\(expression)'\n"
    }
    let path = hub.boardFile + ".rules"
    HubProcess.write("groups:\n- name: panels\n  rules:\n" + rules.joined(), to: path)
    defer { unlink(path) }
    let promtool = try #require(TestTools.path("promtool"), "run .ci/test-tools")
    let checker = Program(["check", "rules", path], path: promtool)
    #expect(checker.wait() == 0, "\(checker.standardOutput)\(checker.standardError)")
    #expect(checker.standardOutput.contains("\(rules.count) rules found"))
  }

  @Test func `panels of several hubs have a labelled line for each hub and device`() throws {
    let hub = hub()
    defer { hub.stop() }
    struct Dashboard: Decodable {
      struct Panel: Decodable {
        struct Target: Decodable { var expr: String, legendFormat: String? }
        var title, type: String
        var `repeat`: String?
        var targets: [Target]
      }
      var panels: [Panel]
    }
    let dashboard = try JSONDecoder().decode(
      Dashboard.self, from: Data(HTTPAnswer(port, "GET", "/grafana.json").body.utf8))
    for panel in dashboard.panels where panel.repeat != "instance" {
      #expect(panel.targets.allSatisfy { $0.legendFormat?.contains("{{instance}}") == true }, "\(panel.title)")
    }
    // A map panel joins its data only by time.
    #expect(dashboard.panels.contains { $0.type == "geomap" && $0.repeat == "instance" })
    let power = try #require(dashboard.panels.first { $0.title == "Power" }?.targets.first?.expr)
    let expression = power.replacing("$instance", with: ".*")
    let series = [("boat", "off"), ("van", "tracking")].map { hub, state in
      "  - series: 'sensorhub_device_power_state{job=\"hubs\",instance=\"\(hub)\",device=\"gps\",state=\"\(state)\"}'\n"
        + "    values: '1 1'\n"
    }
    let samples = [("boat", 1), ("van", 4)].map { hub, value in
      "    - labels: '{job=\"hubs\",instance=\"\(hub)\",device=\"gps\"}'\n      value: \(value)\n"
    }
    let folder = TemporaryFolder("panels")
    HubProcess.write(
      "evaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n\(series.joined())  promql_expr_test:\n"
        + "  - expr: '\(expression)'\n    eval_time: 1m\n    exp_samples:\n\(samples.joined())",
      to: folder.path + "/panels.yaml")
    let promtool = try #require(TestTools.path("promtool"), "run .ci/test-tools")
    let checker = Program(["test", "rules", folder.path + "/panels.yaml"], path: promtool)
    #expect(checker.wait() == 0, "\(checker.standardOutput)\(checker.standardError)")
  }
}
