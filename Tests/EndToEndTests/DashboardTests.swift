import Glibc
import HardwareIO
import NMEA
import TestSupport
import Testing

/// The dashboard in a browser.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(10))) struct DashboardTests {
  private let browser: Browser

  init() throws { browser = try Browser() }

  /// Opens the page of the suite's hub.
  private func openShared() throws -> HubProcess {
    let shared = try SharedHub.shared()
    try browser.open("http://localhost:\(shared.port)/")
    return shared.hub
  }

  /// Opens the page of a hub of the test's own, by default on the simulated board.
  private func open(_ port: UInt16, board: String? = nil) throws -> HubProcess {
    let hub = HubProcess(board: board ?? HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    try browser.open("http://localhost:\(port)/")
    return hub
  }

  private func text(of id: String) throws -> String { try browser.text("document.getElementById('\(id)').textContent") }

  private func isLive() throws -> Bool { try browser.shows("fused", at: "text('mode')") }

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

  /// Runs the audit of accessibility in both colour schemes.
  private func expectAccessibleInBothSchemes(savingAs name: String? = nil) throws {
    for scheme in ["light", "dark"] {
      try browser.prefer(scheme: scheme)
      try browser.expectAccessible()
      if let name { browser.save(as: "\(name)-\(scheme)") }
    }
  }

  @Test func `a device that does not work is shown in a banner and in the title, with the next step`() throws {
    let web = SocketClient.freePort()
    let failing = try open(
      web,
      board:
        "{ name: \"failing\", devices: { imu: { driver: \"mpu-6050\", bus: \"/dev/i2c-99\" } }, http: { port: \(web) } }"
    )
    #expect(try browser.sees("text('banner').includes('imu: failed for ')"))
    let banner = try text(of: "banner")
    #expect(banner.contains("there is no I2C bus /dev/i2c-99") && banner.contains("or correct 'bus' in the board file"))
    #expect(try browser.text("document.querySelector('#banner li').className") == "problem")
    #expect(try browser.shows("⚠ imu failed · failing · SensorHub", at: "document.title"))
    #expect(try browser.shows("not working", at: "text('mode')"))
    #expect(try browser.text("document.getElementById('origin').hidden") == "true")
    try expectAccessibleInBothSchemes(savingAs: "dashboard-failed")
    #expect(failing.stop() == 0)
    // The page says that a value is unknown, and not the old value.
    #expect(try browser.sees("text('banner').includes('hub: connection lost for ')"))
    #expect(try !text(of: "banner").contains("imu"))
    #expect(try browser.text("document.title") == "⚠ connection lost · failing · SensorHub")
    try expectAccessibleInBothSchemes()
  }

  @Test func `the word for the board's condition is not green while a device does not work`() throws {
    let web = SocketClient.freePort()
    let gps = "gps: { driver: \"nmea\", port: \"simulated/gps2\" }"
    let imu = "imu: { driver: \"mpu-6050\", bus: \"/dev/i2c-99\" }"
    let partly = HubProcess(board: "{ name: \"partly\", devices: { \(gps), \(imu) }, http: { port: \(web) } }")
    #expect(partly.logs("dashboard on"))
    try browser.open("http://localhost:\(web)/")
    #expect(try eventually { try text(of: "mode") == "GNSS" && text(of: "banner").contains("imu: failed for ") })
    #expect(try eventually { try browser.text("document.getElementById('badge').className") == "badge warn" })
    #expect(partly.stop() == 0)
  }

  @Test func `the banner says what a receiver waits for, with the next step, and does not show it as an alarm`() throws
  {
    let terminal = PseudoTerminal()
    let web = SocketClient.freePort()
    let gps = "gps: { driver: \"nmea\", port: \"\(terminal.path)\", speed: 9600 }"
    let searching = HubProcess(board: "{ name: \"searching\", devices: { \(gps) }, http: { port: \(web) } }")
    #expect(searching.logs("dashboard on"))
    try browser.open("http://localhost:\(web)/")
    var second = 0
    var isExplained = false
    // The next epoch follows after a fifth of a second.
    while !isExplained, second < 900 {
      second += 1
      let time = "12\(SentenceField.padded(second / 60 % 60, 2))\(SentenceField.padded(second % 60, 2)).00"
      terminal.writeNow(
        nmeaLine("GPRMC,\(time),V,,,,,,,211126,,,N") + nmeaLine("GPGGA,\(time),,,,,0,00,99.99,,,,,,")
          + nmeaLine("GPGSV,1,1,01,07,40,083,12"))
      isExplained = try browser.sees(
        """
        ["gps: acquiring for ", "1 satellite in view (12 dB)", "check the antenna's plug and cable"]
          .every(part => text('banner-list').includes(part))
        """, within: .milliseconds(200))
    }
    let words = try text(of: "banner-list")
    #expect(isExplained, "\(words)")
    #expect(try browser.text("document.querySelector('#banner li').className") == "waiting")
    #expect(try browser.text("document.title") == "searching · SensorHub")
    try browser.expectAccessible()
    #expect(searching.stop() == 0)
  }

  @Test func `the page is readable in both colour schemes, on a desktop, a phone and by a screen reader`() throws {
    _ = try openShared()
    #expect(try isLive())
    for scheme in ["light", "dark"] {
      try browser.prefer(scheme: scheme)
      let brightness = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]"
      #expect(try browser.shows("\(scheme == "light")", at: "\(brightness) > 128"))
      try browser.expectNoScrolling(savingAs: "WIDTH-\(scheme)", at: 800)
      // The last size was a phone's, on which the audits run.
      for panel in ["now", "hour", "sky", "tilt", "devices", "day", "anchor"] {
        try browser.open(panel: panel)
        try browser.expectAccessible()
      }
      try browser.open(panel: "now")
    }
  }

  @Test func `a moving page draws few frames, and only the horizon with each state`() throws {
    _ = try openShared()
    #expect(try isLive())
    // The clock of the page counts the seconds, and a cleared canvas is drawn.
    try browser.run(
      """
      window.seconds = window.frames = 0; window.drawn = {};
      const next = window.requestAnimationFrame;
      window.requestAnimationFrame = (draw) => next((time) => { window.frames += 1; draw(time); });
      new MutationObserver(() => (window.seconds += 1)).observe(document.getElementById('utc'), { childList: true });
      const clear = CanvasRenderingContext2D.prototype.clearRect;
      CanvasRenderingContext2D.prototype.clearRect = function (...box) {
        window.drawn[this.canvas.id] = (window.drawn[this.canvas.id] ?? 0) + 1;
        return clear.apply(this, box);
      };
      """)
    func restart(with panel: String) throws {
      try browser.open(panel: panel)
      try browser.run("window.seconds = window.frames = 0; window.drawn = {}")
      #expect(try browser.sees("window.seconds >= 5"))
    }
    try restart(with: "now")
    // The vehicle may stand for a while. There are at most two frames each second, and some at the beginning.
    #expect(try browser.sees("window.drawn.map > 0", within: .seconds(230)))
    #expect(try browser.text("window.frames <= 2 * window.seconds + 4") == "true")
    #expect(try browser.text("window.drawn.horizon ?? window.drawn.sky ?? 0") == "0")
    try restart(with: "tilt")
    #expect(try browser.sees("window.drawn.horizon > 0", within: .seconds(230)))
    #expect(try browser.text("(window.drawn.map ?? 0) <= 2 * window.seconds + 4") == "true")
  }

  @Test func `hiding or pausing the page lets the devices sleep`() throws {
    let hub = try open(SocketClient.freePort())
    #expect(try isLive())
    try browser.minimize()
    #expect(hub.comesToRest())
    try browser.restore()
    // The page shows the earlier state until the first new one.
    #expect(hub.shows("gps", "tracking") && hub.shows("imu", "tracking"))
    #expect(try isLive())
    #expect(hub.devicesNow["gps"].wakes == 2)
    try browser.run("document.getElementById('pause').click()")
    #expect(hub.comesToRest())
    // The page draws its words a moment later.
    #expect(try browser.shows("paused", at: "text('mode')"))
    #expect(try text(of: "pause") == "Resume" && browser.text("document.getElementById('pause').ariaPressed") == "null")
    // Known values visibly grow old, including satellites.
    for id in ["position-age", "attitude-age", "sky-age"] {
      #expect(try browser.sees("text('\(id)').endsWith(' old')"), "\(id)")
    }
    #expect(try browser.sees("document.querySelector('.power').textContent.startsWith('off')"))
    // Hiding and showing a paused page does not resume it.
    try browser.minimize()
    try browser.restore()
    // Each button has one action, and names it for people who cannot see its context.
    let names = "[...document.querySelectorAll('.device:first-child button')].map((b) => b.ariaLabel).join()"
    #expect(try browser.text(names) == "Hold GPS on simulated/gps awake for 60 seconds,Release GPS on simulated/gps")
    #expect(try browser.text("document.querySelector('.release').disabled") == "true")
    // A page that was hidden for some seconds disables its buttons until it has heard from the hub again.
    #expect(try browser.shows("false", at: "document.querySelector('.hold').disabled"))
    try browser.run("document.querySelector('.hold').click()")
    #expect(hub.shows("gps", "tracking"))
    #expect(hub.devicesNow["gps"].holders == ["held for 127.0.0.1"])
    #expect(hub.devicesNow["imu"].power == "off")
    let who = "document.querySelector('.who').textContent"
    // The hold lasts for a minute, so any number of remaining seconds is accepted.
    let held = #"/^Awake: held for 127\.0\.0\.1 \([1-5]?\d s left\)$/"#
    #expect(try browser.sees("\(held).test(\(who))"))
    #expect(try browser.text(names).hasPrefix("Hold GPS"))
    #expect(try browser.shows("false", at: "document.querySelector('.release').disabled"))
    try browser.run("document.querySelector('.release').click()")
    #expect(hub.comesToRest())
    try browser.run("document.getElementById('pause').click()")
    #expect(try isLive())
  }

  @Test func `only the client that has a hold is shown with the hold's remaining time, and no client of the same name`()
    throws
  {
    let hub = try openShared()
    #expect(try isLive())
    // The hub reports a second client of the same name.
    try browser.run(
      """
      const usual = window.fetch;
      window.fetch = async (address, options = {}) => {
        const answer = await usual(address, options);
        if (address !== 'devices') return answer;
        const report = await answer.json();
        for (const device of report.devices.filter(({ holders }) => holders.includes('held for 127.0.0.1'))) {
          device.holders = ['held for 127.0.0.1', ...device.holders];
          device.holderIds = ['#0', ...device.holderIds];
        }
        return new Response(JSON.stringify(report));
      };
      document.querySelector('.hold').click();
      """)
    let who = "document.querySelector('.who').textContent"
    let held = #"/^Awake: held for 127\.0\.0\.1, .*held for 127\.0\.0\.1 \([1-5]?\d s left\)$/"#
    #expect(try browser.sees("\(held).test(\(who))"))
    #expect(try browser.shows("false", at: "document.querySelector('.release').disabled"))
    try browser.run("document.querySelector('.release').click()")
    #expect(try browser.shows("true", at: "document.querySelector('.release').disabled"))
    try browser.open("about:blank")
    #expect(hub.comesToRest())
  }

  @Test func `the track can be downloaded, with a gap where the page was paused`() throws {
    let hub = try openShared()
    #expect(try isLive())
    let way = "document.getElementById('gpx').disabled"
    #expect(try browser.shows("false", at: way))
    let utc = try text(of: "utc")
    #expect(try browser.sees("text('utc') !== '\(utc)'"))
    #expect(try browser.sees("text('fix-time').endsWith(' UTC')") && utc.count == 8)
    try browser.run("URL.createObjectURL = (blob) => { window.file = blob; return 'about:blank' }")
    try browser.run("HTMLAnchorElement.prototype.click = function () { window.fileName = this.download }")
    // A blob can be read only later, so its text is kept when it is made.
    try browser.run(
      """
      window.Blob = class extends Blob {
        constructor(parts, options) { super(parts, options); window.taken = parts.join('') }
      }
      """)
    func file() throws -> String {
      try browser.run("document.getElementById('gpx').click()")
      return try browser.awaitedText("window.file.text()")
    }
    func segments(_ file: String) -> [Substring] {
      file.split(separator: "<trkseg>").dropFirst().compactMap { $0.split(separator: "</trkseg>").first }
    }
    // The test pauses and resumes the page.
    try browser.run("document.getElementById('pause').click()")
    #expect(hub.comesToRest())
    let before = segments(try file())
    try browser.run("document.getElementById('pause').click()")
    #expect(try isLive())
    // Later points are in a part of their own, and continuous ones are in one part.
    let isApart = """
      (element('gpx').click(), window.taken.split('<trkseg>').slice(\(before.count + 1))
        .some((part) => part.split('<trkpt').length > 2))
      """
    #expect(try browser.sees(isApart))
    let whole = try file()
    let after = segments(whole)
    #expect(!before.isEmpty && Array(after.prefix(before.count)) == before, "\(whole)")
    #expect(try browser.text("window.fileName").hasSuffix(".gpx"))
    #expect(whole.hasPrefix("<?xml version=\"1.0\"") && whole.contains("xmlns=\"http://www.topografix.com/GPX/1/1\""))
    #expect(after.allSatisfy { $0.contains("<trkpt lat=\"52.51") }, "\(whole)")
    let points = whole.split(separator: "<trkpt").count - 1
    #expect(whole.split(separator: "<time>20").count - 1 == points)
    #expect(whole.split(separator: "<ele>").count - 1 == points)
    try browser.run("window.parsed = new DOMParser()")
    let document = "window.file.text().then((t) => window.parsed.parseFromString(t, 'text/xml'))"
    #expect(try browser.awaitedText("\(document).then((d) => d.documentElement.nodeName)") == "gpx")
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

  @Test func `the tile server gets the page's site as the referrer`() throws {
    let port = SocketClient.freePort()
    // The hub itself is the server, under another name than the page's.
    let tiles = "http://127.0.0.1:\(port)/{z}/{x}/{y}.png"
    let hub = try open(
      port,
      board: HubProcess.simulatedBoard("http: { port: \(port), tiles: \"\(tiles)\", attribution: \"© Some Body\" }"))
    #expect(try isLive())
    #expect(try text(of: "credit") == "© Some Body")
    #expect(try browser.sees("performance.getEntriesByType('resource').some(({ name }) => name.endsWith('.png'))"))
    let asked = try browser.log("performance").contains {
      $0.message.contains(".png") && $0.message.contains("\"Referer\":\"http://localhost:\(port)/\"")
    }
    #expect(asked)
    #expect(hub.stop() == 0)
  }

  /// A hub with five devices that have long names.
  private func fullHub(port: UInt16) throws -> HubProcess {
    let devices = """
      gps: { driver: "nmea", port: "simulated/gps", power: { switch: "gpio", chip: "simulated", line: "gps-power" } },
      imu: { driver: "mpu-6050", bus: "simulated/i2c" }, mag: { driver: "lis3mdl", bus: "simulated/i2c" },
      baro: { driver: "bme280", bus: "simulated/i2c" }, meter: { driver: "ina226", bus: "simulated/i2c" }
      """
    let hub = try open(
      port, board: "{ name: \"test\", motion: \"vehicle\", devices: { \(devices) }, http: { port: \(port) } }")
    #expect(try browser.shows("5", at: "document.querySelectorAll('.device').length"))
    try browser.open(panel: "devices")
    return hub
  }

  @Test func `with five devices the page fits a phone's width, shows their full names, and how many are below`() throws
  {
    let hub = try fullHub(port: SocketClient.freePort())
    #expect(try isLive())
    let cut =
      "[...document.querySelectorAll('h3, .what, .cost, .power')].filter((e) => e.scrollWidth > e.clientWidth + 1)"
    let outside = """
      [...document.querySelectorAll('.devices *')].filter((e) =>
        e.getBoundingClientRect().right > document.querySelector('.devices').getBoundingClientRect().right)
      """
    for (width, height, isMobile) in [(360, 800, true), (390, 844, true), (1280, 1000, false), (1920, 1080, false)] {
      try browser.developerTool(
        "Emulation.setDeviceMetricsOverride",
        #"{"width": \#(width), "height": \#(height), "deviceScaleFactor": 1, "mobile": \#(isMobile)}"#)
      // On a phone, content that sticks out would make the page wider.
      #expect(try browser.shows("\(width)", at: "innerWidth"), "it has to be scrolled sideways")
      #expect(
        try browser.shows("true", at: "document.documentElement.scrollWidth <= innerWidth"), "\(width)")
      let text = "map((e) => e.textContent).join()"
      #expect(try browser.shows("", at: "\(cut).\(text)"), "\(width)")
      #expect(try browser.shows("", at: "\(outside).\(text)"), "\(width)")
      browser.save(as: "full-\(width)")
    }
    let names = "[...document.querySelectorAll('.device')].map((e) => e.innerText.split('\\n')[0]).join()"
    #expect(try browser.text(names) == "gps,imu,mag,baro,meter")
    #expect(try browser.text("document.querySelectorAll('.what')[2].textContent").hasSuffix(" on simulated/i2c"))
    try browser.expectAccessible()
    // On a low screen the list is cut off.
    let more = "document.getElementById('devices-more')"
    try browser.showOn(width: 1280, height: 800)
    #expect(try browser.shows("true", at: "\(more).checkVisibility()"))
    #expect(try browser.text("\(more).textContent").hasSuffix(" more"))
    try browser.run("document.querySelector('.device:last-child').scrollIntoView()")
    #expect(try browser.shows("false", at: "\(more).checkVisibility()"))
    #expect(hub.stop() == 0)
  }

  /// A hub with a recorder and earlier recordings: a track of the last hours, seen half an hour ago, and the receiver's
  /// times of activity.
  private func recordingHub(_ folder: RecordedDay, port: UInt16) throws -> HubProcess {
    try folder.write()
    return try open(
      port,
      board: HubProcess.simulatedBoard(
        "http: { port: \(port) }, record: { path: \"\(folder.path)\", syncSeconds: 0.2 }"))
  }

  @Test func `the page shows recorded data on the map and the timeline, offers downloads of it, and stays accessible`()
    throws
  {
    // Without a recorder there is nothing to download.
    _ = try openShared()
    #expect(try browser.text("document.getElementById('taking').hidden") == "true")
    let day = RecordedDay()
    let port = SocketClient.freePort()
    let hub = try recordingHub(day, port: port)
    try browser.open(panel: "day")
    let life = { (id: String) in
      "[...document.querySelectorAll('.life')].find((row) => row.dataset.id === '\(id)')?.lastChild"
    }
    let words = "\(life("gps"))?.getAttribute('aria-label')"
    #expect(try browser.sees("\(words).startsWith('gps: on for ')"))
    #expect(try browser.text(words).contains(" of the last 24 hours, "))
    // The page shows the earlier track and the present position.
    #expect(try isLive())
    #expect(try browser.sees("colourCount(element('map')) > 3"))
    // The page requests this after everything else.
    let asked = """
      performance.getEntriesByType('resource').some(({ name }) =>
        name.includes('/history/track.gpx?from=') && name.includes('&every=1&simplify=2'))
      """
    #expect(try browser.sees(asked))
    // A label describes the time under the pointer: an hour ago the device was on, and three hours ago it was not.
    for (hours, power) in [(1.0, "tracking"), (3.0, "off")] {
      try browser.run(
        """
        const canvas = \(life("gps")); const box = canvas.getBoundingClientRect();
        canvas.dispatchEvent(new PointerEvent('pointermove',
          { bubbles: true, clientX: box.left + box.width * (1 - \(hours) / 24), clientY: box.top + 2 }))
        """)
      #expect(try text(of: "history-at").hasPrefix("gps: \(power) "))
    }
    // Each segment has its own link, and the present one is marked.
    let links = "[...document.querySelectorAll('#segments a')].map((a) => a.textContent).join('|')"
    #expect(FileChanges.wait(in: day.path) { Files.names(in: day.path).count == 2 })
    try browser.run("document.getElementById('recordings').open = true")
    #expect(try browser.shows("2", at: "document.querySelectorAll('#segments a').length"))
    #expect(try browser.sees("\(links).includes(' · being written|')"))
    #expect(try text(of: "segments-count") == "Recordings (2)")
    #expect(try browser.text("document.querySelector('#segments li:last-child a').download") == RecordedDay.segment)
    let track = try browser.awaitedText(
      "fetch(document.getElementById('history-gpx').href).then((answer) => answer.text())")
    #expect(track.hasPrefix("<?xml") && track.split(separator: "<trkseg>").count > 1)
    #expect(try browser.log("browser").isEmpty)
    for scheme in ["light", "dark"] {
      try browser.run("document.getElementById('recordings').open = false")
      try browser.prefer(scheme: scheme)
      #expect(try browser.shows("2", at: "document.querySelectorAll('.life').length"))
      try browser.expectNoScrolling(savingAs: "history-WIDTH-\(scheme)", at: 800)
      // The list can be open too. A key closes the panel and returns the focus to where it was.
      try browser.run("document.getElementById('recordings').open = true")
      #expect(try browser.sees("document.querySelectorAll('#segments a').length > 0"))
      try browser.expectAccessible()
      try browser.run(
        """
        document.querySelector('#segments a').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }))
        """)
      #expect(try browser.text("document.getElementById('recordings').open") == "false")
      #expect(try browser.text("document.activeElement.id") == "segments-count")
    }
    #expect(hub.stop() == 0)
    #expect(Files.names(in: day.path).contains(RecordedDay.segment))
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
