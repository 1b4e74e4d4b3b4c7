import FoundationEssentials
import Hub
import MonotonicTime
import Publishing
import TestSupport
import Testing

@testable import Outputs

/// Holds of several independent callers over a web port.
@Suite(.timeLimit(.minutes(10))) struct HoldPortTests {
  private let web = WebPort()
  /// The clock of the holds. The devices have the machine's clock, so their starts and ends take real time.
  private let clock = ManualClock()
  private let hub: ServedHub

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

  init() throws { hub = try ServedHub(board: HubProcess.simulatedBoard(web.section), clientClock: clock) }

  private func post(_ path: String) -> WebPort.Answer { web.ask("POST", path) }

  private func hold(_ path: String) throws -> Hold {
    try JSONDecoder().decode(Hold.self, from: Data(post(path).body.utf8))
  }

  private var holds: [Holds.Entry] {
    get throws { try JSONDecoder().decode(Holds.self, from: Data(web.ask("GET", "/holds").body.utf8)).holds }
  }

  @Test func `a hold keeps only its device awake, for the stated time`() async throws {
    let long = try hold("/devices/imu/hold?for=600")
    #expect(long.device == "imu" && long.seconds == 600)
    #expect(hub.shows("imu") { $0.power == .tracking })
    #expect(try hub.device("imu").holders == ["held for 127.0.0.1"])
    #expect(try hub.device("gps").wakes == 0)
    let entry = try #require(try holds.first)
    #expect(entry.device == "imu" && entry.holder == "held for 127.0.0.1" && entry.seconds == 600)
    #expect(try hub.device("imu").holderIDs.map(\.description) == [entry.holderId])
    // The hold ends by itself, not before its time.
    let short = try hold("/devices/imu/hold?for=1")
    #expect(short.device == "imu" && short.seconds == 1)
    #expect(post("/devices/imu/release?hold=\(long.id)").status == 200)
    clock.advance(by: .milliseconds(999))
    #expect(try holds.map(\.device) == ["imu"])
    #expect(try hub.device("imu").holders == ["held for 127.0.0.1"] && hub.device("imu").power == .tracking)
    clock.advance(by: .milliseconds(1))
    #expect(try holds.isEmpty)
    #expect(hub.comesToRest())
    #expect(try hub.device("imu").wakes == 1)
    await hub.end()
  }

  @Test func `a hold can be ended even if a reload has removed its device`() async throws {
    let hold = try hold("/devices/gps/hold?for=3600")
    #expect(hub.shows("gps") { $0.power == .tracking })
    try await hub.reload("{ name: \"bare\", \(web.section) }")
    #expect(try holds.count == 1)
    #expect(post("/devices/gps/release?hold=\(hold.id)").status == 200)
    #expect(try holds.isEmpty)
    #expect(post("/devices/gps/release?hold=\(hold.id)").status == 404)
    await hub.end()
  }

  @Test func `a hold survives a change of the port's settings, but not the port's removal`() async throws {
    let hold = try hold("/devices/gps/hold?for=3600")
    #expect(hub.shows("gps") { $0.power == .tracking })
    let isServed = { (lines: [String]) in lines.count { $0.hasPrefix("dashboard on http://") } == 2 }
    try await hub.reload(HubProcess.simulatedBoard("http: { port: \(web.number), hosts: [\"hub.example\"] }"))
    #expect(hub.log.waits(until: isServed))
    #expect(web.ask("GET", "/state", ["Host: hub.example"]).status == 200)
    #expect(try holds.map(\.device) == ["gps"])
    #expect(try hub.device("gps").holders == ["held for 127.0.0.1"] && hub.device("gps").wakes == 1)
    #expect(post("/devices/gps/hold?hold=\(hold.id)&for=600").status == 200)
    try await hub.reload(HubProcess.simulatedBoard(""))
    #expect(hub.comesToRest())
    await hub.end()
  }

  @Test func `a shorter hold does not shorten another one, nor does releasing it end the other`() async throws {
    let long = try hold("/devices/gps/hold?for=3600")
    let short = try hold("/devices/gps/hold?for=1")
    let other = try hold("/devices/gps/hold?for=600")
    #expect(Set([long.id, short.id, other.id]).count == 3)
    // Another device's hold ends with the short one. When that device has switched off, the first one would have too.
    _ = try hold("/devices/imu/hold?for=1")
    #expect(hub.shows("imu") { $0.power == .tracking })
    clock.advance(by: .seconds(1))
    #expect(hub.shows("imu") { $0.power == .off && $0.wakes == 1 })
    #expect(try holds.count == 2)
    #expect(post("/devices/gps/release?hold=\(other.id)").body.contains("\"seconds\":0.0"))
    #expect(try holds.map(\.device) == ["gps"] && (try holds.first.map { $0.seconds > 600 }) == true)
    #expect(try hub.device("gps").power != .off && !hub.device("gps").holders.isEmpty)
    // A hold can be ended once, and only with its identifier.
    #expect(post("/devices/gps/release?hold=\(other.id)").status == 404)
    #expect(post("/devices/gps/release").status == 400)
    #expect(post("/devices/imu/release?hold=\(long.id)").status == 404)
    #expect(!web.ask("GET", "/holds").body.contains(long.id))
    #expect(post("/devices/gps/release?hold=\(long.id)").status == 200)
    #expect(hub.comesToRest())
    #expect(try hub.device("gps").wakes == 1)
    await hub.end()
  }

  @Test func `the client that made a hold may prolong it without a power cycle`() async throws {
    let short = try hold("/devices/gps/hold?for=3")
    let answer = post("/devices/gps/hold?for=3600&hold=\(short.id)")
    let prolonged = try JSONDecoder().decode(Hold.self, from: Data(answer.body.utf8))
    #expect(prolonged.id == short.id && prolonged.seconds == 3600)
    #expect(try holds.count == 1 && (try holds.first.map { $0.seconds > 600 }) == true)
    #expect(post("/devices/gps/hold?hold=nonsense").status == 404)
    #expect(hub.shows("gps") { $0.power == .tracking })
    // Another device's hold ends when the original duration is over. Its device then switches off.
    _ = try hold("/devices/imu/hold?for=3")
    #expect(hub.shows("imu") { $0.power == .tracking })
    clock.advance(by: .seconds(3))
    #expect(hub.shows("imu") { $0.power == .off && $0.wakes == 1 })
    #expect(try hub.device("gps").power == .tracking && hub.device("gps").wakes == 1)
    #expect(try !hub.device("gps").holders.isEmpty)
    await hub.end()
  }

  @Test func `at most 256 holds are allowed`() async throws {
    // All but the last do not come over the port, because hundreds of requests take minutes on a busy machine.
    for _ in 1..<256 { _ = try hub.holds.hold("imu", for: .seconds(600), as: "test", of: .keeper) }
    #expect(post("/devices/imu/hold?for=600").status == 200)
    let refusal = post("/devices/imu/hold?for=600")
    #expect(refusal.status == 503 && refusal.head.contains("Retry-After: 60"), "\(refusal)")
    #expect(refusal.body.contains("already, the maximum"), "\(refusal)")
    #expect(try holds.count == 256)
    await hub.end()
  }
}
