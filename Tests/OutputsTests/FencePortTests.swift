import FoundationEssentials
import HardwareIO
import Hub
import MonotonicTime
import Simulation
import TestSupport
import Testing

@testable import Outputs

/// Fences over a web port, of a hub whose vehicle drives a figure of eight around their centre.
@Suite(.timeLimit(.minutes(10))) struct FencePortTests {
  private let web = WebPort()

  private func board(_ fences: String, _ more: String = "") -> String {
    HubProcess.simulatedBoard("\(web.section), fences: { \(fences) }\(more)")
  }

  /// A fence of 50 m around the place where the vehicle starts. The vehicle drives 100 m away and back each lap.
  private static let start = "start: { circle: [52.5163, 13.3777, 50], grace: 1, speed: 50 }"
  private static let far = "far: { circle: [52.6, 13.5, 1000] }"

  /// A vehicle that drives a lap in 16 s, and a receiver that knows the position at once.
  private var quickVehicle: SimulatedHardware {
    var world = World(start: MonotonicClock().now)
    (world.drivingSeconds, world.standingSeconds) = (12, 4)
    var receiver = SimulatedReceiver.Configuration()
    (receiver.timeToFirstFix, receiver.rateHz) = (.zero, 5)
    return SimulatedHardware(receiver: receiver, world: world)
  }

  @Test func `leaving and returning are on the event stream and in the journal, and a hook is told`() async throws {
    let folder = TemporaryFolder("fence-hook")
    let notices = folder.path + "/notices"
    let hook = ", on: { fence: { run: [\"/bin/sh\", \"-c\", \"cat >> \(notices)\"] } }"
    let hub = try ServedHub(board: board(Self.start, hook), on: quickVehicle)
    let client = web.events("only=fence")
    #expect(client.receives(#""name":"start","state":"#), "\(client.text)")
    #expect(client.text.contains("event: fence"), "\(client.text)")
    for (event, state, line, change) in [
      ("leave", "outside", "fence start: left, ", "left"), ("enter", "inside", "fence start: entered, ", "returned"),
    ] {
      let isReported = client.receives { text in
        text.split(separator: "\n").contains {
          $0.contains(#"{"class":"FENCE","name":"start","state":"\#(state)","#)
            && $0.contains(#""event":"\#(event)","beyond":"#)
        }
      }
      #expect(isReported, "\(client.text)")
      #expect(hub.log.waits { $0.contains { $0.hasPrefix(line) } }, "\(hub.log.values)")
      #expect(hub.logs("hook on.fence: delivered SIMULATED: test: fence start \(change)"), "\(hub.log.values)")
    }
    let told = String(decoding: try Files.bytes(of: notices, limit: 1 << 16), as: UTF8.self)
    for change in [#""left","active":true"#, #""returned","active":false"#] {
      let notice = #""event":"fence","change":\#(change),"subject":"start","hub":"test","mark":"SIMULATED","#
      #expect(told.contains(notice), "\(told)")
    }
    #expect(told.contains(#""message":"fence start: "#) && told.contains(" m beyond the edge, at "), "\(told)")
    // The client gets no states and wakes nothing as an observer. Only the fence holds the receiver.
    #expect(!client.text.contains(#""class":"STATE""#))
    #expect(try hub.device("imu").wakes == 0)
    #expect(try hub.device("gps").holders.allSatisfy { $0 == "fence start (position)" })
    let answer = web.ask("GET", "/fences").body
    #expect(answer.contains(#"{"class":"FENCES","fences":{"start":{"state":""#), "\(answer)")
    #expect(answer.contains(#""beyond":"#), "\(answer)")
    client.leave()
    await hub.end()
  }

  @Test func `a fence that a reload removes lets the receiver sleep, and one that stays keeps watching`() async throws {
    let hub = try ServedHub(board: board("\(Self.start), \(Self.far)"), on: quickVehicle)
    let found = "fence far: the board is outside, "
    #expect(hub.log.waits { $0.contains { $0.hasPrefix(found) } })
    try await hub.reload(board(Self.far))
    #expect(hub.comesToRest())
    let answer = web.ask("GET", "/fences").body
    #expect(answer.contains(#""fences":{"far":{"state":"outside""#) && !answer.contains("start"), "\(answer)")
    #expect(hub.log.values.count { $0.hasPrefix(found) } == 1)
    try await hub.reload(board(""))
    #expect(web.ask("GET", "/fences").body.contains(#""fences":{}"#))
    #expect(!web.ask("GET", "/devices").body.contains(#""schedules":"#))
    await hub.end()
  }

  @Test func `a listener first receives the state of each of many fences`() async throws {
    let names = (1...20).map { "far\($0)" }
    let fences = names.map { "\($0): { circle: [52.6, 13.5, 1000] }" }.joined(separator: ", ")
    let hub = try ServedHub(board: board(fences), on: quickVehicle)
    let areFound = hub.log.waits { lines in
      names.allSatisfy { name in lines.contains { $0.hasPrefix("fence \(name): the board is outside, ") } }
    }
    #expect(areFound, "\(hub.log.values)")
    for _ in 1...2 {
      let client = web.events("only=fence")
      for name in names { #expect(client.receives(#""name":"\#(name)","state":"outside""#), "\(client.text)") }
      client.leave()
    }
    await hub.end()
  }

  @Test func `a hub without fences wakes no device for clients that listen for fence events`() async throws {
    let hub = try ServedHub(board: board(""))
    let client = web.events("only=fence")
    #expect(client.receives("retry: "))
    #expect(web.ask("GET", "/fences").body.contains(#""fences":{}"#))
    #expect(hub.hub.devices.allSatisfy { $0.wakes == 0 })
    client.leave()
    for wrong in ["only=state", "only=fence&rate=2", "only=fence&every=60"] {
      let answer = web.ask("GET", "/events?\(wrong)")
      #expect(answer.body.contains("'only' "), "\(answer.body)")
    }
    await hub.end()
  }

  private func post(_ json: String, _ headers: [String] = []) -> WebPort.Answer {
    web.ask("POST", "/fences", headers, body: json)
  }

  @Test func `a fence can be added and removed over HTTP`() async throws {
    let hub = try ServedHub(board: board("yard: { circle: [54.4, 10.2, 100] }"))
    let foreign = post(#"{"name": "anchor", "radiusMetres": 40}"#, ["Origin: http://evil.example"])
    #expect(foreign.status == 403)
    let wrong = post(#"{"name": "anchor", "radius": 40}"#)
    #expect(wrong.status == 400 && wrong.body.contains("did you mean 'radiusMetres'?"), "\(wrong.body)")
    #expect(post(#"{"name": "yard", "radiusMetres": 40, "latitude": 54, "longitude": 10}"#).status == 409)
    let added = post(#"{"name": "anchor", "radiusMetres": 200, "latitude": 54.3721, "longitude": 10.1573}"#)
    // The folder for added fences is missing, so it is not kept.
    #expect(added.status == 201 && added.body.contains(#""added":true,"kept":false"#), "\(added.head)\(added.body)")
    #expect(web.ask("GET", "/fences").body.contains(#""added":true"#))
    #expect(web.ask("DELETE", "/fences/anchor").status == 200)
    let gone = web.ask("DELETE", "/fences/anchor")
    #expect(gone.status == 404 && gone.body.contains("none was added"), "\(gone.body)")
    #expect(!web.ask("GET", "/fences").body.contains(#""added":true"#))
    await hub.end()
  }
}
