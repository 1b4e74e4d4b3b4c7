import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The dashboard in a browser.
@Suite(.serialized, .timeLimit(.minutes(5))) struct DashboardTests {
  private let port = SocketClient.freePort()
  private let hub: HubProcess
  private let browser: Browser

  init() throws {
    browser = try Browser()
    hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    let hub = hub
    _ = eventually { hub.program.standardError.contains("dashboard on") }
    try browser.open("http://localhost:\(port)/")
  }

  private func text(of id: String) throws -> String { try browser.text("document.getElementById('\(id)').textContent") }

  private func isLive() throws -> Bool { try eventually { try text(of: "mode") == "fused" } }

  private func isOff() -> Bool { hub.devicesNow.devices.allSatisfy { $0.power == "off" } }

  /// How many colours there are on a canvas: one that has not been drawn on has one.
  private func colours(on id: String) throws -> Int {
    Int(
      try browser.text(
        """
        (() => { const c = document.getElementById('\(id)');
          const d = new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer);
          return new Set(d).size; })()
        """)) ?? 0
  }

  @Test func `it shows the live state, and asks for nothing beyond this machine`() throws {
    #expect(try isLive())
    #expect(try text(of: "lat").hasPrefix("52.51") && text(of: "lon").hasPrefix("13.37"))
    #expect(try text(of: "used") == "8")
    #expect(try browser.text("document.querySelectorAll('.device').length") == "2")
    let before = try text(of: "lat")
    #expect(try eventually { try text(of: "lat") != before })
    for id in ["map", "horizon", "sky"] { #expect(try eventually { try colours(on: id) > 3 }, "\(id)") }
    #expect(try browser.text("document.getElementById('sky').getAttribute('aria-label')").hasPrefix("Sky: "))
    #expect(try browser.log("browser").isEmpty)
    let requests = try browser.log("performance").map(\.message).filter { $0.contains("Network.requestWillBeSent\"") }
    #expect(requests.contains { $0.contains("http://localhost:\(port)/events") })
    let strangers = requests.filter {
      !$0.contains("\"url\":\"http://localhost:\(port)/") && !$0.contains("\"url\":\"data:")
    }
    #expect(strangers.isEmpty)
  }

  @Test(arguments: ["light", "dark"])
  func `it can be read in either scheme, on a desk and on a phone, and by a screen reader`(_ scheme: String) throws {
    try browser.developerTool(
      "Emulation.setEmulatedMedia", #"{"features": [{"name": "prefers-color-scheme", "value": "\#(scheme)"}]}"#)
    #expect(try isLive())
    let brightness = try browser.text("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
    #expect((Int(brightness)! > 128) == (scheme == "light"))
    save(as: scheme)
    try browser.developerTool(
      "Emulation.setDeviceMetricsOverride", #"{"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true}"#)
    #expect(try eventually { try browser.text("innerWidth") == "390" })
    #expect(try browser.text("document.documentElement.scrollWidth") == "390", "it has to be scrolled sideways")
    save(as: "phone-\(scheme)")
    let axe = try #require(TestTools.path("axe.min.js"), "run .ci/test-tools")
    try browser.run(String(decoding: try Data(contentsOf: .init(filePath: axe)), as: UTF8.self))
    #expect(
      try browser.awaitedText("axe.run().then((r) => r.violations.map((v) => `${v.impact} ${v.id}`).join())") == "")
  }

  @Test func `hiding the page lets the devices sleep, and so does pausing it`() throws {
    #expect(try isLive())
    try browser.minimize()
    #expect(eventually { isOff() })
    try browser.restore()
    #expect(eventually { !isOff() })
    #expect(try isLive())
    #expect(hub.devicesNow["gps"].wakes == 2)
    try browser.run("document.getElementById('pause').click()")
    #expect(eventually { isOff() })
    #expect(try text(of: "mode") == "paused")
    #expect(try eventually { try browser.text("document.querySelector('.power').textContent").hasPrefix("off") })
    // To hide and show a paused page does not resume it.
    try browser.minimize()
    try browser.restore()
    try browser.run("document.querySelector('.device button').click()")
    #expect(eventually { hub.devicesNow["gps"].holders == ["held for 127.0.0.1"] })
    #expect(hub.devicesNow["imu"].power == "off")
    #expect(try eventually { try browser.text("document.querySelector('.device button').textContent") == "Release" })
    try browser.run("document.querySelector('.device button').click()")
    #expect(eventually { isOff() })
    try browser.run("document.getElementById('pause').click()")
    #expect(try isLive())
  }

  @Test func `when the hub has gone it says so, and it comes back by itself`() throws {
    #expect(try isLive())
    hub.stop()
    #expect(try eventually { try text(of: "mode") == "reconnecting" })
    let board = HubProcess.simulatedBoard("http: { port: \(port) }")
    let next = HubProcess(board: board)
    #expect(try isLive())
    #expect(next.stop() == 0)
  }

  /// Keeps a picture where the environment names a folder for them.
  private func save(as name: String) {
    guard let folder = getenv("SENSORHUB_SCREENSHOTS").map({ String(cString: $0) }) else { return }
    mkdir(folder, 0o755)
    try? Data(try browser.screenshot()).write(to: .init(filePath: "\(folder)/\(name).png"))
  }
}
