import Glibc
import HardwareIO
import TestSupport
import Testing

/// A replay on the dashboard, in a browser.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(10))) struct ReplayDashboardTests {
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

  private func shows(_ text: String, in id: String) throws -> Bool { try browser.shows(text, at: "text('\(id)')") }

  private func isRunning() throws -> Bool { try shows("GNSS", in: "mode") }

  /// The time next to the slider, in seconds after 10:00:00 of the recorded day, as an expression of the page.
  private static let shownSecond =
    "(text('replay-time').startsWith('2026-11-28 10:00:') ? Number(text('replay-time').slice(-2)) : -1)"

  private func second() throws -> Int { try Int(browser.text(ReplayDashboardTests.shownSecond)) ?? -1 }

  private func shows(second condition: String) throws -> Bool {
    try browser.sees("\(ReplayDashboardTests.shownSecond) \(condition)")
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

  /// Runs an action with which the page sends a command to the hub, and waits until the hub has answered.
  private func command(_ action: () throws -> Void) throws {
    try browser.run("performance.setResourceTimingBufferSize(100000)")
    let answers = "performance.getEntriesByType('resource').filter(({ name }) => name.includes('/replay?')).length"
    let before = try browser.text(answers)
    try action()
    #expect(try browser.sees("\(answers) > \(before)"))
  }

  private func isAt(_ time: String) -> Bool { log.status().contains("\"time\":\"2026-11-28T\(time).000Z\"") }

  private func select(rate: String) throws {
    try browser.run(
      """
      const choice = document.getElementById('replay-rate'); choice.value = '\(rate)';
      choice.dispatchEvent(new Event('change'))
      """)
  }

  /// Waits until the page has read the devices some more times; returns the number of its requests for the replay in
  /// that time.
  private func looksAtReplay(port: UInt16) throws -> Int {
    _ = try browser.log("performance")
    try browser.run("performance.setResourceTimingBufferSize(100000); window.since = performance.now()")
    let later = "performance.getEntriesByType('resource').filter(({ startTime }) => startTime > window.since)"
    #expect(try browser.sees("\(later).filter(({ name }) => name.endsWith('/devices')).length >= 3"))
    return try browser.log("performance").filter {
      $0.message.contains("Network.requestWillBeSent\"")
        && $0.message.contains("\"url\":\"http://localhost:\(port)/replay\"")
    }.count
  }

  @Test func `the page pauses a replay, steps it by a second, and resumes it`() throws {
    #expect(try isRunning())
    #expect(try shows("Halt replay", in: "replay-play"))
    #expect(try browser.sees("text('utc').startsWith('10:00:')"))
    #expect(try shows(second: "> 0"))
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
    #expect(try text(of: "utc") == utc && text(of: "lat") == latitude && text(of: "position-age") == "recorded")
    try click("replay-step")
    #expect(try shows(second: "=== \(halted + 1)"))
    #expect(try browser.sees("text('lat') !== '\(latitude)'"))
    #expect(try text(of: "replay-play") == "Continue")
    try click("replay-play")
    #expect(try shows("Halt replay", in: "replay-play"))
    #expect(try isRunning())
    #expect(try shows(second: "> \(halted + 1)"))
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
    try command { try slide("change", to: 40) }
    #expect(isAt("10:00:40"), "\(log.status())")
    for (key, code, time) in [
      ("ArrowRight", 39, "10:00:41"), ("Home", 36, "10:00:00"), ("ArrowRight", 39, "10:00:01"),
    ] {
      try command { try press(key, code: code) }
      #expect(isAt(time), "\(key): \(log.status())")
      #expect(try browser.text("document.getElementById('replay-place').ariaValueText") == "\(time) UTC")
      #expect(try shows(time, in: "utc"))
    }
    try command { try slide("change", to: 45) }
    #expect(isAt("10:00:45"), "\(log.status())")
    try click("replay-play")
    #expect(try isRunning())
    #expect(try shows(second: "> 45"))
    try browser.run("URL.createObjectURL = () => 'about:blank'")
    try browser.run("HTMLAnchorElement.prototype.click = () => {}")
    let (early, late) = ("2026-11-28T10:00:40", "2026-11-28T10:00:45")
    // A blob can be read only later, so its text is kept when it is made.
    try browser.run(
      """
      window.Blob = class extends Blob {
        constructor(parts, options) { super(parts, options); window.taken = parts.join('') }
      }
      """)
    // The positions and the replay's time arrive on different connections.
    let lastTime = "window.taken.split('<time>').at(-1).slice(0, 19)"
    #expect(try browser.sees("(element('gpx').click(), \(lastTime) >= '\(late)')"))
    let segments = try browser.text("window.taken").split(separator: "<trkseg>").dropFirst()
    let times = segments.map { $0.split(separator: "<time>").dropFirst().map { String($0.prefix(19)) } }
    // No segment has data of both sides, even if a busy machine interrupts one of them.
    #expect(times.allSatisfy { $0.allSatisfy { $0 < early } || $0.allSatisfy { $0 >= late } }, "\(segments)")
    #expect(try #require(times.first?.first) < early)
  }

  @Test func `the page sets the replay's rate, and shows that it is over`() throws {
    #expect(try isRunning())
    #expect(try browser.shows("0.5", at: "document.getElementById('replay-rate').value"))
    try command { try select(rate: "60") }
    #expect(log.status().contains("\"rate\":60.00"), "\(log.status())")
    #expect(try shows("over", in: "mode"))
    #expect(try text(of: "replay-end") == "over" && text(of: "replay-time") == "2026-11-28 10:00:59")
    #expect(try shows("10:00:59", in: "utc"))
    // The rate is so slow that the replay stays at its beginning for a while.
    try command { try select(rate: "0.5") }
    #expect(log.status().contains("\"rate\":0.50"), "\(log.status())")
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
      #expect(try browser.sees("text('\(id)').endsWith(' old')"), "\(id)")
    }
  }

  @Test func `the replay controls need no scrolling, and are accessible`() throws {
    #expect(try isRunning())
    // The rate is slow, so that the replay does not end during the test.
    log.status("POST", "?rate=0.1")
    for scheme in ["light", "dark"] {
      try browser.prefer(scheme: scheme)
      try browser.expectNoScrolling(savingAs: "replay-WIDTH-\(scheme)", at: 800)
      try browser.expectAccessible()
    }
    try click("replay-play")
    #expect(try shows("halted", in: "mode"))
    for scheme in ["light", "dark"] {
      try browser.prefer(scheme: scheme)
      try browser.expectAccessible()
    }
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
