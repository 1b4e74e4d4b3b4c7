import FoundationEssentials
import Glibc
import HardwareIO
import TestSupport
import Testing

/// A replay that is halted, stepped and put to another time, over HTTP.
@Suite(.serialized, .timeLimit(.minutes(5))) final class ReplayControlTests {
  private let folder: String
  private let port = SocketClient.freePort()

  init() {
    var template = Array("/tmp/sensorhub-replay-XXXXXX".utf8CString)
    mkdtemp(&template)
    folder = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
  }

  deinit { _ = Program(["-r", folder], path: "/bin/rm").wait() }

  /// A minute from 10:00 on, five reports a second, at a latitude that grows by 0.001 minutes with each.
  private func replay(_ arguments: [String]) -> Program {
    let log = folder + "/log.nmea"
    let lines = (0..<300).map { index -> String in
      let time = "1000\(padded(index / 5, 2)).\(index % 5 * 2)"
      return sentence("GPRMC,\(time),A,5231.\(padded(index, 3)),N,01323.000,E,10.0,90.0,281126,,,A")
    }
    HubProcess.write(lines.joined(separator: "\r\n") + "\r\n", to: log)
    let board = folder + "/board.json5"
    HubProcess.write(
      "{ name: \"log\", devices: { gps: { driver: \"nmea\", port: \"log\" } }, http: { port: \(port) } }", to: board)
    let program = Program(["replay", log, "--board", board, "--socket", folder + "/hub.sock"] + arguments)
    #expect(eventually { HTTPAnswer(self.port, "GET", "/healthz").status == 200 }, "\(program.standardError)")
    return program
  }

  private func padded(_ number: Int, _ digits: Int) -> String {
    String(repeating: "0", count: digits - "\(number)".count) + "\(number)"
  }

  private func sentence(_ body: String) -> String {
    let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
    return "$\(body)*\(sum.count == 1 ? "0" : "")\(sum)"
  }

  @discardableResult
  private func status(_ method: String = "GET", _ query: String = "") -> String {
    HTTPAnswer(port, method, "/replay" + query).body
  }

  /// What the hub says of the position, in thousandths of a minute behind 52°31'.
  private var latitude: Int? {
    struct State: Decodable {
      struct Position: Decodable { var lat: Double }
      var position: Position?
    }
    let state = try? JSONDecoder().decode(State.self, from: Data(HTTPAnswer(port, "GET", "/state").body.utf8))
    guard let degrees = state?.position?.lat else { return nil }
    let minutes = (degrees - 52) * 60
    return Int(((minutes - 31) * 1000).rounded())
  }

  @Test func `it is halted, stepped, put to another time, and stays at its end`() {
    let program = replay(["--stay"])
    let watch = Program(["watch", "--socket", folder + "/hub.sock", "--json"])
    #expect(eventually { (self.latitude ?? 0) > 3 })
    let halted = status("POST", "?paused=true")
    #expect(halted.contains("\"paused\":true"))
    // Nothing comes any more, whatever is asked.
    #expect(status().contains(halted.split(separator: ",")[1]))
    #expect(status("POST", "?to=2026-11-28T10:00:30Z").contains("\"time\":\"2026-11-28T10:00:30"))
    status("POST", "?step=2")
    #expect(eventually { self.latitude == 160 }, "\(status()) \(latitude ?? -1)")
    #expect(status().contains("\"time\":\"2026-11-28T10:00:32"))
    // Back again, and as fast as can be to the end.
    status("POST", "?to=2026-11-28T10:00:01Z&rate=1000&paused=false")
    #expect(eventually { self.status().contains("\"over\":true") })
    #expect(latitude == 299)
    #expect(status().contains("\"rate\":1000"))
    // The end is not the end: it can be gone through again.
    status("POST", "?to=2026-11-28T10:00:10Z&paused=true")
    status("POST", "?step=0.5")
    #expect(eventually { self.latitude == 52 }, "\(status()) \(latitude ?? -1)")
    watch.send(SIGINT)
    watch.wait()
    program.send(SIGINT)
    #expect(program.wait() == 0, "\(program.standardError)")
  }

  @Test func `what cannot be done is refused, and a hub with devices replays nothing`() {
    let program = replay(["--stay"])
    for (query, message) in [
      ("", "say what to do"), ("?paused=1", "'paused' must be true or false"), ("?rate=0", "'rate'"),
      ("?step=x", "'step'"), ("?to=yesterday", "'to' must be a time"), ("?paused=true&to=x", "'to'"),
    ] {
      let answer = HTTPAnswer(port, "POST", "/replay" + query)
      #expect(answer.status == 400 && answer.body.contains(message), "\(query): \(answer.body)")
    }
    #expect(status().contains("\"paused\":false"))
    program.send(SIGTERM)
    #expect(program.wait() == 0)
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(eventually { HTTPAnswer(self.port, "GET", "/healthz").status == 200 })
    let answer = HTTPAnswer(port, "POST", "/replay?paused=true")
    #expect(answer.status == 404 && answer.body.contains("replays nothing"), "\(answer.body)")
    #expect(hub.stop() == 0)
  }
}
