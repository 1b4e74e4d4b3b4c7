import Glibc
import HardwareIO
import TestSupport
import Testing

/// A replay on the dashboard, in a browser.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ReplayDashboardTests {
  private let browser: Browser
  private let log = ReplayedLog()
  private let replay: Program

  init() throws {
    browser = try Browser()
    replay = log.replay(["--stay", "--rate", "0.5"])
    try browser.open("http://localhost:\(log.port)/")
  }

  private func text(of id: String) throws -> String { try browser.text("document.getElementById('\(id)').textContent") }

  private func click(_ id: String) throws { try browser.run("document.getElementById('\(id)').click()") }

  private func shows(_ text: String, in id: String) throws -> Bool { try eventually { try self.text(of: id) == text } }

  private func isRunning() throws -> Bool { try shows("GNSS", in: "mode") }

  /// The time next to the slider, in seconds after 10:00:00 of the recorded day.
  private func second() throws -> Int {
    let time = try text(of: "replay-time")
    return time.hasPrefix("2026-11-28 10:00:") ? Int(time.suffix(2)) ?? -1 : -1
  }

  /// Moves the slider like a finger and lets it go.
  private func slide(_ event: String, to second: Int) throws {
    try browser.run(
      """
      const place = document.getElementById('replay-place'); place.value = \(second);
      place.dispatchEvent(new Event('\(event)', { bubbles: true }))
      """)
  }

  private func press(_ key: String, code: Int) throws {
    try browser.run("document.getElementById('replay-place').focus()")
    for type in ["keyDown", "keyUp"] {
      try browser.developerTool(
        "Input.dispatchKeyEvent",
        #"{"type": "\#(type)", "key": "\#(key)", "code": "\#(key)", "windowsVirtualKeyCode": \#(code)}"#)
    }
  }

  private func select(rate: String) throws {
    try browser.run(
      """
      const choice = document.getElementById('replay-rate'); choice.value = '\(rate)';
      choice.dispatchEvent(new Event('change'))
      """)
  }

  /// The numbers of the page's requests since the last call: for the replay and for the devices.
  private func requests(port: UInt16) throws -> (replay: Int, devices: Int) {
    let asked = try browser.log("performance").map(\.message).filter { $0.contains("Network.requestWillBeSent\"") }
    let count = { (path: String) in
      asked.filter { $0.contains("\"url\":\"http://localhost:\(port)/\(path)\"") }.count
    }
    return (count("replay"), count("devices"))
  }

  /// Waits until the page has read the devices some more times; returns the number of its requests for the replay in
  /// that time.
  private func looksAtReplay(port: UInt16) throws -> Int {
    _ = try requests(port: port)
    var sum = (replay: 0, devices: 0)
    #expect(
      try eventually {
        let more = try requests(port: port)
        sum = (sum.replay + more.replay, sum.devices + more.devices)
        return sum.devices >= 3
      })
    return sum.replay
  }

  @Test func `the page pauses a replay, steps it by a second, and resumes it`() throws {
    #expect(try isRunning())
    #expect(try shows("Halt replay", in: "replay-play"))
    #expect(try eventually { try text(of: "utc").hasPrefix("10:00:") })
    #expect(try eventually { try second() > 0 })
    try click("replay-play")
    #expect(try shows("Continue", in: "replay-play"))
    // A button's words alone name its action.
    #expect(try browser.text("document.getElementById('replay-play').ariaPressed") == "null")
    #expect(log.status().contains("\"paused\":true"))
    #expect(try text(of: "replay-end") == "halted" && shows("halted", in: "mode"))
    #expect(try looksAtReplay(port: log.port) >= 2)
    let (halted, utc, latitude) = (try second(), try text(of: "utc"), try text(of: "lat"))
    #expect(try looksAtReplay(port: log.port) >= 2)
    #expect(try second() == halted)
    // The shown values do not grow old either.
    #expect(try text(of: "utc") == utc && text(of: "lat") == latitude && text(of: "position-age") == "live")
    try click("replay-step")
    #expect(try eventually { try second() == halted + 1 })
    #expect(try eventually { try text(of: "lat") != latitude })
    #expect(try text(of: "replay-play") == "Continue")
    try click("replay-play")
    #expect(try shows("Halt replay", in: "replay-play"))
    #expect(try isRunning())
    #expect(try eventually { try second() > halted + 1 })
    #expect(try browser.log("browser").isEmpty)
  }

  @Test func `the slider seeks when it is released, also by keys, and the track has a gap there`() throws {
    #expect(try isRunning())
    #expect(try browser.shows("false", at: "document.getElementById('gpx').disabled"))
    try click("replay-play")
    #expect(try shows("halted", in: "mode"))
    let before = log.status()
    try slide("input", to: 40)
    #expect(try shows("2026-11-28 10:00:40", in: "replay-time"))
    #expect(try looksAtReplay(port: log.port) >= 2)
    #expect(try log.status() == before && second() == 40)
    try slide("change", to: 40)
    #expect(eventually { log.status().contains("\"time\":\"2026-11-28T10:00:40.000Z\"") })
    for (key, code, time) in [
      ("ArrowRight", 39, "10:00:41"), ("Home", 36, "10:00:00"), ("ArrowRight", 39, "10:00:01"),
    ] {
      try press(key, code: code)
      #expect(eventually { log.status().contains("\"time\":\"2026-11-28T\(time).000Z\"") }, "\(key): \(log.status())")
      #expect(try browser.text("document.getElementById('replay-place').ariaValueText") == "\(time) UTC")
      #expect(try shows(time, in: "utc"))
    }
    try slide("change", to: 45)
    #expect(eventually { log.status().contains("\"time\":\"2026-11-28T10:00:45.000Z\"") })
    try click("replay-play")
    #expect(try isRunning())
    #expect(try eventually { try second() > 45 })
    try browser.run("URL.createObjectURL = (blob) => { window.file = blob; return 'about:blank' }")
    try browser.run("HTMLAnchorElement.prototype.click = () => {}")
    let (early, late) = ("2026-11-28T10:00:40", "2026-11-28T10:00:45")
    var segments: [Substring] = []
    var times: [[String]] = []
    // Positions come on another connection than the replay's time.
    let isTaken = try eventually {
      try click("gpx")
      segments = Array(try browser.awaitedText("window.file.text()").split(separator: "<trkseg>").dropFirst())
      times = segments.map { $0.split(separator: "<time>").dropFirst().map { String($0.prefix(19)) } }
      return (times.last?.last ?? "") >= late
    }
    #expect(isTaken, "\(segments)")
    // No segment has data of both sides, even if a busy machine interrupts one of them.
    #expect(times.allSatisfy { $0.allSatisfy { $0 < early } || $0.allSatisfy { $0 >= late } }, "\(segments)")
    #expect(try #require(times.first?.first) < early)
  }

  @Test func `the page sets the replay's rate, and shows that it is over`() throws {
    #expect(try isRunning())
    #expect(try browser.shows("0.5", at: "document.getElementById('replay-rate').value"))
    try select(rate: "60")
    #expect(eventually { log.status().contains("\"rate\":60.00") })
    #expect(try shows("over", in: "mode"))
    #expect(try text(of: "replay-end") == "over" && text(of: "replay-time") == "2026-11-28 10:00:59")
    #expect(try shows("10:00:59", in: "utc"))
    // The rate is so slow that the replay stays at its beginning for a while.
    try select(rate: "0.5")
    #expect(eventually { log.status().contains("\"rate\":0.50") })
    #expect(try text(of: "replay-play") == "Start again")
    try click("replay-play")
    #expect(try isRunning())
    #expect(try shows("Halt replay", in: "replay-play"))
    #expect(try second() < 30)
    // Another client's rate is shown as well.
    log.status("POST", "?rate=3")
    #expect(try browser.shows("3", at: "document.getElementById('replay-rate').value"))
  }

  @Test func `the page disables its controls when the replay has died`() throws {
    #expect(try isRunning())
    let isUsable =
      "['play', 'step', 'rate', 'place'].map((name) => !document.getElementById(`replay-${name}`).disabled)"
    #expect(try browser.shows("true,true,true,true", at: isUsable))
    replay.send(SIGKILL)
    replay.wait()
    #expect(try shows("no answer", in: "replay-end"))
    #expect(try browser.text(isUsable) == "false,false,false,false")
    #expect(try shows("reconnecting", in: "mode"))
    for id in ["position-age", "devices-age"] {
      #expect(try eventually { try text(of: id).hasSuffix(" old") }, "\(id)")
    }
  }

  @Test(arguments: ["light", "dark"])
  func `the replay controls need no scrolling, and are accessible`(_ scheme: String) throws {
    try browser.prefer(scheme: scheme)
    #expect(try isRunning())
    // The rate is slow, so that the replay does not end during the test.
    log.status("POST", "?rate=0.1")
    try browser.expectNoScrolling(savingAs: "replay-WIDTH-\(scheme)", at: 800)
    try browser.expectAccessible()
    try click("replay-play")
    #expect(try shows("halted", in: "mode"))
    try browser.expectAccessible()
  }

  @Test func `a paused or hidden page does not query the replay, and a page of a hub with devices never does`() throws {
    #expect(try isRunning())
    // The rate is slow, so that the replay does not end during the test.
    log.status("POST", "?rate=0.1")
    #expect(try looksAtReplay(port: log.port) >= 2)
    try click("pause")
    #expect(try shows("paused", in: "mode"))
    #expect(try looksAtReplay(port: log.port) == 0)
    // A paused replay still accepts changes.
    try click("replay-play")
    #expect(try shows("Continue", in: "replay-play"))
    try click("pause")
    #expect(try looksAtReplay(port: log.port) >= 2)
    let port = SocketClient.freePort()
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(hub.logs("dashboard on"))
    try browser.open("http://localhost:\(port)/")
    #expect(try looksAtReplay(port: port) == 0)
    #expect(try browser.text("getComputedStyle(document.querySelector('.replay')).display") == "none")
    #expect(hub.stop() == 0)
  }
}
