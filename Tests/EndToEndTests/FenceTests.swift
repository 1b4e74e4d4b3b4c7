import Glibc
import HardwareIO
import TestSupport
import Testing

/// Fences of a hub whose vehicle drives a figure of eight around their centre.
@Suite(.serialized, .timeLimit(.minutes(15))) struct FenceTests {
  private let http = SocketClient.freePort()

  private func board(_ fences: String, _ more: String = "") -> String {
    HubProcess.simulatedBoard("http: { port: \(http) }, fences: { \(fences) }\(more)")
  }

  /// A fence of 50 m around the place where the vehicle starts. The vehicle drives 100 m away and stops there for ten
  /// seconds a lap.
  private static let start = "start: { circle: [52.5163, 13.3777, 50], grace: 2, speed: 20 }"

  private func request(_ path: String) -> SocketClient {
    let client = SocketClient(port: http)
    client.send("GET \(path) HTTP/1.1\r\nHost: localhost\r\n\r\n")
    return client
  }

  @Test func `leaving and returning are on the event stream and in the journal`() throws {
    let hub = HubProcess(board: board(Self.start))
    #expect(hub.logs("dashboard on"))
    let client = request("/events?only=fence")
    #expect(client.receives(#"event: fence"#))
    // The vehicle returns every 70 s, in case the first fix comes too late for the start.
    #expect(
      eventually(within: .seconds(240)) { client.text.contains(#"{"class":"FENCE","name":"start","state":"inside","#) },
      "\(client.text)")
    for (event, state, line) in [
      ("leave", "outside", "fence start: left, "), ("enter", "inside", "fence start: entered, "),
    ] {
      #expect(
        eventually(within: .seconds(240)) {
          client.text.contains(#""event":"\#(event)","beyond":"#)
            && client.text.contains(#""name":"start","state":"\#(state)","#)
        }, "\(client.text)")
      #expect(hub.logs(line), "\(hub.program.standardError)")
    }
    // The client gets no states and wakes nothing as an observer. Only the fence holds the receiver.
    #expect(!client.text.contains(#""class":"STATE""#))
    #expect(hub.devicesNow["imu"].wakes == 0)
    #expect(hub.devicesNow["gps"].holders.allSatisfy { $0 == "fence start (position)" })
    let answer = HTTPAnswer(http, "GET", "/fences").body
    #expect(answer.contains(#"{"class":"FENCES","fences":{"start":{"state":""#), "\(answer)")
    #expect(answer.contains(#""beyond":"#), "\(answer)")
    client.leave()
    #expect(hub.stop() == 0)
  }

  @Test func `a fence that a reload removes lets the receiver sleep, and one that stays keeps watching`() {
    let far = "far: { circle: [52.6, 13.5, 1000] }"
    let hub = HubProcess(board: board("\(Self.start), \(far)"))
    #expect(hub.logs("fence far: the board is outside, "))
    HubProcess.write(board(far), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(hub.logs("reloaded"))
    #expect(hub.comesToRest())
    let answer = HTTPAnswer(http, "GET", "/fences").body
    #expect(answer.contains(#""fences":{"far":{"state":"outside""#) && !answer.contains("start"), "\(answer)")
    #expect(hub.program.standardError.components(of: "fence far: the board is outside") == 1)
    HubProcess.write(board(""), to: hub.boardFile)
    hub.program.send(SIGHUP)
    #expect(eventually { HTTPAnswer(http, "GET", "/fences").body.contains(#""fences":{}"#) })
    #expect(eventually { !HTTPAnswer(http, "GET", "/devices").body.contains(#""schedules":"#) })
    #expect(hub.stop() == 0)
  }

  @Test func `a listener first receives the state of each of many fences`() {
    let names = (1...20).map { "far\($0)" }
    let hub = HubProcess(board: board(names.map { "\($0): { circle: [52.6, 13.5, 1000] }" }.joined(separator: ", ")))
    func areAll(_ marks: [String], in text: () -> String) -> Bool {
      eventually { marks.allSatisfy { text().contains($0) } }
    }
    #expect(areAll(names.map { "fence \($0): the board is outside, " }) { hub.program.standardError })
    for _ in 1...2 {
      let client = request("/events?only=fence")
      #expect(areAll(names.map { #""name":"\#($0)","state":"outside""# }) { client.text }, "\(client.text)")
      client.leave()
    }
    #expect(hub.stop() == 0)
  }

  @Test func `leaving between two runs of the hub is noticed and published`() {
    let broker = Broker()
    // The vehicle passes this place once a lap and never stops near it.
    let fence = "spot: { circle: [52.51, 13.37, 50], speed: 20 }"
    let folder = TemporaryFolder("fence-state")
    let mqtt = ", mqtt: { broker: \"\(broker.address)\", hub: \"boat\" }"
    func run() -> HubProcess { HubProcess(board: board(fence, mqtt), environment: ["STATE_DIRECTORY=\(folder.path)"]) }
    let first = run()
    #expect(first.logs("fence spot: the board is outside, "))
    let topic = "sensorhub/boat/fences"
    #expect(eventually { broker.retained(topic)?.contains(#""fences":{"spot":{"state":"outside","#) == true })
    let file = "\(folder.path)/fences.json"
    #expect(eventually { text(file).contains(#""isInside":false"#) }, "\(text(file))")
    #expect(first.stop() == 0)
    // The stored state says that the board was inside.
    HubProcess.write(text(file).replacing(#""isInside":false"#, with: #""isInside":true"#), to: file)
    let second = run()
    #expect(
      second.logs("fence spot: left, "), "\(second.program.standardError)")
    #expect(eventually { broker.retained(topic)?.contains(#""event":"leave""#) == true })
    #expect(second.stop() == 0)
  }

  @Test func `a second hub in the same state folder leaves the first one's fence states unchanged`() {
    let folder = TemporaryFolder("fence-state")
    func run(_ name: String) -> HubProcess {
      HubProcess(
        board: HubProcess.simulatedBoard("fences: { \(name): { circle: [52.51, 13.37, 50], speed: 20 } }"),
        environment: ["STATE_DIRECTORY=\(folder.path)"])
    }
    let file = "\(folder.path)/fences.json"
    let first = run("spot")
    #expect(eventually { text(file).contains(#""spot":"#) }, "\(first.program.standardError)")
    let second = run("other")
    #expect(second.logs("fence other: the board is outside, "))
    #expect(second.program.standardError.contains("another hub stores its history in \(folder.path)"))
    #expect(second.stop() == 0)
    #expect(text(file).contains(#""spot":"#) && !text(file).contains("other"), "\(text(file))")
    #expect(first.stop() == 0)
  }

  private func text(_ file: String) -> String {
    String(decoding: (try? Files.bytes(of: file, limit: 1 << 16)) ?? [], as: UTF8.self)
  }

  @Test func `a hub without fences wakes no device for clients that listen for fence events`() {
    let hub = HubProcess(board: board(""))
    #expect(hub.logs("dashboard on"))
    let client = request("/events?only=fence")
    #expect(client.receives("retry: "))
    #expect(HTTPAnswer(http, "GET", "/fences").body.contains(#""fences":{}"#))
    #expect(hub.devicesNow.devices.allSatisfy { $0.wakes == 0 })
    client.leave()
    for wrong in ["only=state", "only=fence&rate=2", "only=fence&every=60"] {
      let answer = HTTPAnswer(http, "GET", "/events?\(wrong)")
      #expect(answer.body.contains("'only' "), "\(answer.body)")
    }
    #expect(hub.stop() == 0)
  }

  @Test func `check lists the fences and reports missing devices`() {
    let file = "/tmp/sensorhub-fence-\(getpid()).json5"
    defer { unlink(file) }
    HubProcess.write(board(Self.start), to: file)
    let right = Program(["check", file])
    #expect(right.wait() == 0, "\(right.standardError)")
    #expect(
      right.standardOutput.contains(
        "fence start: 50 m around 52.516300, 13.377700; at least one fix every 10 min 00 "
          + "s"),
      "\(right.standardOutput)")
    HubProcess.write("{ name: 'x', devices: {}, fences: { \(Self.start) } }", to: file)
    let wrong = Program(["check", file])
    #expect(wrong.wait() == 65 && wrong.standardError.contains("'fences' needs a receiver for the position"))
  }
}

extension String {
  /// How often a text occurs in this one.
  fileprivate func components(of text: String) -> Int {
    var (count, rest) = (0, self[...])
    while let range = rest.firstRange(of: text) {
      count += 1
      rest = rest[range.upperBound...]
    }
    return count
  }
}
