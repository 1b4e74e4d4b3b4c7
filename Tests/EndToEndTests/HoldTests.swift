import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// Holds by several callers that know nothing of each other.
@Suite(.serialized, .timeLimit(.minutes(10))) struct HoldTests {
  private let port = SocketClient.freePort()
  private let hub: HubProcess

  private struct Hold: Decodable {
    var id, device: String
    var seconds: Double
  }

  private struct Holds: Decodable {
    struct Entry: Decodable {
      var device, holder, holderId: String
      var seconds: Double
    }
    var holds: [Entry]
  }

  init() {
    hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    let hub = hub
    _ = hub.logs("dashboard on")
  }

  private func post(_ path: String) -> HTTPAnswer { HTTPAnswer(port, "POST", path) }

  private func hold(_ path: String) throws -> Hold {
    try JSONDecoder().decode(Hold.self, from: Data(post(path).body.utf8))
  }

  private var holds: [Holds.Entry] {
    get throws {
      try JSONDecoder().decode(Holds.self, from: Data(HTTPAnswer(port, "GET", "/holds").body.utf8)).holds
    }
  }

  @Test func `a hold keeps only its device awake, for the stated time`() throws {
    let long = try hold("/devices/imu/hold?for=600")
    #expect(long.device == "imu" && long.seconds == 600)
    #expect(hub.shows("imu", "tracking"))
    #expect(hub.devicesNow["imu"].holders == ["held for 127.0.0.1"])
    #expect(hub.devicesNow["gps"].wakes == 0)
    let entry = try #require(try holds.first)
    #expect(entry.device == "imu" && entry.holder == "held for 127.0.0.1" && entry.seconds < 600 && entry.seconds > 0)
    #expect(hub.devicesNow["imu"].holderIds == [entry.holderId])
    // The hold ends by itself, not before its time.
    let before = hub.devicesNow["imu"].onSeconds
    let short = try hold("/devices/imu/hold?for=2")
    #expect(short.device == "imu" && short.seconds == 2)
    #expect(post("/devices/imu/release?hold=\(long.id)").status == 200)
    #expect(try eventually { try hub.isOff && holds.isEmpty })
    #expect(hub.devicesNow["imu"].wakes == 1)
    #expect(hub.devicesNow["imu"].onSeconds - before >= 2)
  }

  @Test func `a hold can be ended even if a reload has removed its device`() throws {
    let hold = try hold("/devices/gps/hold?for=3600")
    #expect(hub.shows("gps", "tracking"))
    HubProcess.write("{ name: \"bare\", http: { port: \(port) } }", to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("board 'bare' reloaded"))
    #expect(try holds.count == 1)
    #expect(post("/devices/gps/release?hold=\(hold.id)").status == 200)
    #expect(try holds.isEmpty)
    #expect(post("/devices/gps/release?hold=\(hold.id)").status == 404)
  }

  @Test func `a hold survives a change of the port's settings, but not the port's removal`() throws {
    let hold = try hold("/devices/gps/hold?for=3600")
    #expect(hub.shows("gps", "tracking"))
    HubProcess.write(
      HubProcess.simulatedBoard("http: { port: \(port), hosts: [\"hub.example\"] }"), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(eventually { HTTPAnswer(port, "GET", "/state", ["Host: hub.example"]).status == 200 })
    #expect(try holds.map(\.device) == ["gps"])
    #expect(hub.devicesNow["gps"].holders == ["held for 127.0.0.1"] && hub.devicesNow["gps"].wakes == 1)
    #expect(post("/devices/gps/hold?hold=\(hold.id)&for=600").status == 200)
    HubProcess.write(HubProcess.simulatedBoard(""), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.comesToRest())
  }

  @Test func `a shorter hold does not shorten another one, nor does releasing it end the other`() throws {
    let long = try hold("/devices/gps/hold?for=3600")
    let short = try hold("/devices/gps/hold?for=1")
    let other = try hold("/devices/gps/hold?for=600")
    #expect(Set([long.id, short.id, other.id]).count == 3)
    #expect(try eventually { try holds.count == 2 })
    #expect(post("/devices/gps/release?hold=\(other.id)").body.contains("\"seconds\":0.0"))
    #expect(try holds.map(\.device) == ["gps"] && (try holds.first.map { $0.seconds > 600 }) == true)
    #expect(hub.devicesNow["gps"].power != "off")
    // A hold can be ended once, and only with its identifier.
    #expect(post("/devices/gps/release?hold=\(other.id)").status == 404)
    #expect(post("/devices/gps/release").status == 400)
    #expect(post("/devices/imu/release?hold=\(long.id)").status == 404)
    #expect(!HTTPAnswer(port, "GET", "/holds").body.contains(long.id))
    #expect(post("/devices/gps/release?hold=\(long.id)").status == 200)
    #expect(hub.comesToRest())
    #expect(hub.devicesNow["gps"].wakes == 1)
  }

  @Test func `the client that made a hold may prolong it without a power cycle`() throws {
    // On a busy machine a hold may end before its caller prolongs it. Then there is another chance.
    var (prolonged, holdCount): (Hold?, Int) = (nil, 0)
    for _ in 0..<10 where prolonged == nil {
      let short = try hold("/devices/gps/hold?for=3")
      holdCount += 1
      let answer = post("/devices/gps/hold?for=3600&hold=\(short.id)")
      if answer.status == 404 { continue }
      prolonged = try JSONDecoder().decode(Hold.self, from: Data(answer.body.utf8))
      #expect(prolonged?.id == short.id && prolonged?.seconds == 3600)
    }
    #expect(prolonged != nil)
    #expect(try holds.count == 1 && (try holds.first.map { $0.seconds > 600 }) == true)
    #expect(post("/devices/gps/hold?hold=nonsense").status == 404)
    // The original duration passes.
    let before = hub.devicesNow["gps"].onSeconds
    #expect(eventually { hub.devicesNow["gps"].onSeconds > before + 3.5 })
    #expect(hub.devicesNow["gps"].power != "off" && hub.devicesNow["gps"].wakes <= holdCount)
  }

  @Test func `at most 256 holds are allowed`() throws {
    let client = SocketClient(port: port)
    for _ in 0..<300 { client.send("POST /devices/imu/hold?for=600 HTTP/1.1\r\nHost: localhost\r\n\r\n") }
    #expect(eventually { client.text.split(separator: "HTTP/1.1 503").count == 45 }, "\(client.text.suffix(400))")
    #expect(client.text.contains("Retry-After: 60") && client.text.contains("already, the maximum"))
    #expect(try holds.count == 256)
    #expect(hub.stop() == 0)
  }
}
