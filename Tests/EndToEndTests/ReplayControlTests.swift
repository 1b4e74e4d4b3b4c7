import FoundationEssentials
import Glibc
import HardwareIO
import TestSupport
import Testing

/// A replay that is paused, stepped and moved to another time over HTTP.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ReplayControlTests {
  private let log = ReplayedLog()

  private func replay(_ arguments: [String]) -> Program { log.replay(arguments) }

  @discardableResult
  private func status(_ method: String = "GET", _ query: String = "") -> String { log.status(method, query) }

  /// The hub's position, in thousandths of a minute after 52°31'.
  private var latitude: Int? {
    struct State: Decodable {
      struct Position: Decodable { var lat: Double }
      var position: Position?
    }
    let state = try? JSONDecoder().decode(State.self, from: Data(HTTPAnswer(log.port, "GET", "/state").body.utf8))
    guard let degrees = state?.position?.lat else { return nil }
    let minutes = (degrees - 52) * 60
    return Int(((minutes - 31) * 1000).rounded())
  }

  @Test func `a replay can be paused and stepped, can seek, and stays at its end`() {
    let program = replay(["--stay"])
    let watch = Program(["watch", "--socket", log.socket, "--json"])
    #expect(eventually { (latitude ?? 0) > 3 })
    let halted = status("POST", "?paused=true")
    #expect(halted.contains("\"paused\":true"))
    // Nothing more is sent, whatever the request.
    #expect(status().contains(halted.split(separator: ",")[1]))
    #expect(status("POST", "?to=2026-11-28T10:00:30Z").contains("\"time\":\"2026-11-28T10:00:30"))
    status("POST", "?step=2")
    #expect(eventually { latitude == 160 }, "\(status()) \(latitude ?? -1)")
    #expect(eventually { status().contains("\"time\":\"2026-11-28T10:00:32") }, "\(status())")
    // The replay moves back, and then runs to the end as fast as possible.
    status("POST", "?to=2026-11-28T10:00:01Z&rate=1000&paused=false")
    #expect(eventually { status().contains("\"over\":true") })
    #expect(eventually { latitude == 299 }, "\(latitude ?? -1)")
    #expect(status().contains("\"rate\":1000"))
    // A replay at its end can be run again.
    status("POST", "?to=2026-11-28T10:00:10Z&paused=true")
    status("POST", "?step=0.5")
    #expect(eventually { latitude == 52 }, "\(status()) \(latitude ?? -1)")
    watch.send(SIGINT)
    watch.wait()
    program.send(SIGINT)
    #expect(program.wait() == 0, "\(program.standardError)")
  }

  @Test func `an impossible change of a replay is refused, and so is any change of a hub with devices`() {
    let program = replay(["--stay"])
    for (query, message) in [
      ("", "give one of"), ("?paused=1", "'paused' must be true or false"), ("?rate=0", "'rate'"),
      ("?step=x", "'step'"), ("?to=yesterday", "'to' must be a time"), ("?paused=true&to=x", "'to'"),
    ] {
      let answer = HTTPAnswer(log.port, "POST", "/replay" + query)
      #expect(answer.status == 400 && answer.body.contains(message), "\(query): \(answer.body)")
    }
    #expect(status().contains("\"paused\":false"))
    program.send(SIGTERM)
    #expect(program.wait() == 0)
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(log.port) }"))
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    let answer = HTTPAnswer(log.port, "POST", "/replay?paused=true")
    #expect(answer.status == 404 && answer.body.contains("does not replay"), "\(answer.body)")
    #expect(hub.stop() == 0)
  }
}
