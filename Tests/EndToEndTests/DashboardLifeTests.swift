import Glibc
import NMEA
import TestSupport
import Testing

/// The page of a live hub, without a fix, and after the hub has died.
extension DashboardTests {
  @Test func `the page shows the live state, loads nothing from other machines, and reconnects to a new hub by itself`()
    throws
  {
    let port = SocketClient.freePort()
    let hub = try open(port)
    #expect(try isLive())
    #expect(try text(of: "origin") == "SIMULATED")
    #expect(try browser.text("document.getElementById('banner').hidden") == "true")
    #expect(try browser.sees("text('lat').startsWith('52.51') && text('lon').startsWith('13.37')"))
    // Satellites and devices follow after the first state.
    #expect(try browser.shows("8", at: "text('used')"))
    #expect(try browser.shows("2", at: "document.querySelectorAll('.device').length"))
    let before = try text(of: "lat")
    #expect(try browser.sees("text('lat') !== '\(before)'"))
    // A canvas that was never drawn on has one colour.
    for (panel, id) in [("now", "map"), ("tilt", "horizon"), ("sky", "sky")] {
      try browser.open(panel: panel)
      #expect(try browser.sees("colourCount(element('\(id)')) > 3"), "\(id)")
    }
    #expect(try browser.text("document.getElementById('sky').getAttribute('aria-label')").hasPrefix("Sky: "))
    #expect(try browser.log("browser").isEmpty)
    let requests = try browser.log("performance").map(\.message).filter { $0.contains("Network.requestWillBeSent\"") }
    #expect(requests.contains { $0.contains("http://localhost:\(port)/events") })
    let strangers = requests.filter {
      !$0.contains("\"url\":\"http://localhost:\(port)/") && !$0.contains("\"url\":\"data:")
    }
    #expect(strangers.isEmpty)
    // The hub is younger than the five minutes of the devices' lists.
    try browser.open(panel: "devices")
    let canvas = "document.querySelector('.device canvas')"
    #expect(
      try browser.shows("Power of the last five minutes, partly unknown; now tracking", at: "\(canvas)?.ariaLabel"))
    #expect(try text(of: "devices-age") == "last five minutes; hatched: unknown")
    // The pixels are left of the mark of four minutes ago, when this hub had not been started.
    let hatched = """
      (() => { const c = \(canvas); const d = pixels(c); const width = Math.floor(c.width * 0.15);
        const all = [...new Uint32Array(d.buffer)];
        return new Set(all.filter((_, index) => index % c.width < width)).size > 1; })()
      """
    #expect(try browser.sees(hatched))
    let cost = "document.querySelector('.cost').textContent"
    #expect(try browser.text(cost).hasPrefix("1 wake · ") && browser.text(cost).hasSuffix(" mWh"))
    // The hub goes, and another one comes.
    #expect(hub.stop() == 0)
    #expect(try browser.shows("reconnecting", at: "text('mode')"))
    let next = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(try isLive())
    #expect(next.stop() == 0)
  }

  @Test func `without a fix the page shows how long ago the last one was, and no time of a fix`() throws {
    let receiver = PseudoTerminal()
    let port = SocketClient.freePort()
    let hub = try open(
      port,
      board: """
        { name: "test", devices: { gps: { driver: "nmea", port: "\(receiver.path)" } }, http: { port: \(port) } }
        """)
    var second = 0
    /// The receiver sends one epoch after another until the page shows the fix.
    func shows(_ fix: String, hasFix: Bool, _ condition: String) throws -> Bool {
      for _ in 0..<900 {
        second += 1
        let time = "12\(SentenceField.padded(second / 60 % 60, 2))\(SentenceField.padded(second % 60, 2)).00"
        let place = "5231.0000,N,01322.0000,E"
        receiver.write(
          hasFix
            ? SentenceWriter.make("GNRMC,\(time),A,\(place),1.0,45.0,211126,,,A,V")
              + SentenceWriter.make("GNGGA,\(time),\(place),1,08,0.9,40.0,M,40.0,M,,")
              + SentenceWriter.make("GNGSA,A,3,02,05,12,13,15,18,24,29,,,,,1.6,0.9,1.3,1")
            : SentenceWriter.make("GNRMC,\(time),V,,,,,,,211126,,,N,V")
              + SentenceWriter.make("GNGGA,\(time),,,,,0,00,,,M,,M,,")
              + SentenceWriter.make("GNGSA,A,1,,,,,,,,,,,,,,,,1"))
        // The next epoch follows after a fifth of a second.
        let isShown = "text('fix') === '\(fix)' && (\(condition))"
        if try browser.sees(isShown, within: .milliseconds(200)) { return true }
      }
      return false
    }
    let notFound = "text('note').startsWith('The receiver has not found its position yet.')"
    // The hub may add the reason in its own words. After a while, an alarm replaces the note.
    let saysWhy = """
      text('note').startsWith('The receiver has not found its position yet. (')
        || text('banner').includes('gps: acquiring for ')
      """
    let wasLost = "text('note').startsWith('The receiver has lost its position.')"
    let isExplained = """
      text('banner').includes('the receiver has lost its position (it has no fix, and lists no satellites)')
        && text('banner').includes('check its antenna')
      """
    let lastFix = "text('fix-time').startsWith('last fix ') && text('fix-time').endsWith(' ago')"
    #expect(try shows("none", hasFix: false, "text('fix-time') === '–' && \(notFound)"))
    #expect(try shows("none", hasFix: false, saysWhy))
    #expect(try shows("3D", hasFix: true, "text('fix-time').endsWith(' UTC')"))
    #expect(try shows("none", hasFix: false, lastFix))
    // A position is held for a while.
    #expect(try shows("none", hasFix: false, wasLost))
    // The banner of the old position says why, with the next step, before the hub itself raises an alarm.
    #expect(try shows("none", hasFix: false, isExplained))
    #expect(hub.stop() == 0)
  }

  @Test func `after the hub has died, the page shows no value as current and disables its controls`() throws {
    let port = SocketClient.freePort()
    let day = RecordedDay()
    let hub = try recordingHub(day, port: port)
    #expect(try isLive())
    for id in ["position-age", "attitude-age", "sky-age"] { #expect(try browser.shows("live", at: "text('\(id)')")) }
    let areTracking =
      "[...document.querySelectorAll('.power')].every((e) => e.textContent.startsWith('tracking'))"
    #expect(try browser.shows("true", at: areTracking))
    let isGrey = "getComputedStyle(document.getElementById('sky')).filter !== 'none'"
    // A state that is delayed on a busy machine makes the page grey for a moment.
    #expect(try browser.shows("false", at: isGrey))
    hub.stop(SIGKILL)
    #expect(try browser.shows("reconnecting", at: "text('mode')"))
    // The age is shown at once, however rarely it changes.
    for id in ["position-age", "attitude-age", "sky-age"] { #expect(try text(of: id).hasSuffix(" old"), "\(id)") }
    #expect(try browser.text(isGrey) == "true")
    #expect(try browser.sees("text('devices-age').endsWith(' old')"))
    let texts = { (name: String) in
      "[...document.querySelectorAll('.device \(name)')].map((e) => e.textContent).join()"
    }
    #expect(try browser.text(texts(".power")) == "was tracking,was tracking")
    #expect(try !browser.text(texts(".who")).contains("Awake"))
    #expect(try browser.text("[...document.querySelectorAll('.device button')].every((b) => b.disabled)") == "true")
    #expect(try browser.text("document.querySelector('.history .take').inert") == "true")
    let label = "document.querySelector('.device canvas').getAttribute('aria-label')"
    #expect(try browser.text(label).hasSuffix("; last tracking"))
    try browser.expectAccessible()
    browser.save(as: "dead-1280")
    // The hub comes back.
    let next = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(try isLive())
    #expect(try browser.sees("\(texts(".power")).startsWith('tracking · ')"))
    #expect(try browser.text("document.querySelector('.hold').disabled") == "false")
    #expect(try text(of: "devices-age").hasPrefix("last five minutes"))
    #expect(next.stop() == 0)
  }
}
