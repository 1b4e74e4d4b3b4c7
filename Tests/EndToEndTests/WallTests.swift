import FoundationEssentials
import Glibc
import TestSupport
import Testing

/// The dashboard as a page that stays on a wall.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(10))) struct WallTests {
  private let browser: Browser

  init() throws { browser = try Browser() }

  /// Opens the page of the suite's hub, and returns the port.
  @discardableResult
  private func open() throws -> UInt16 {
    let port = try SharedHub.shared().port
    try browser.open("http://localhost:\(port)/")
    return port
  }

  /// Opens the page of a hub of the test's own.
  private func open(_ port: UInt16, more: String = "") throws -> HubProcess {
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }\(more)"))
    #expect(hub.logs("dashboard on"))
    try browser.open("http://localhost:\(port)/")
    return hub
  }

  private func text(of id: String) throws -> String { try browser.text("document.getElementById('\(id)').textContent") }

  private func isLive() throws -> Bool { try browser.shows("fused", at: "text('mode')") }

  private func isVisible(_ id: String) throws -> Bool {
    try browser.text("document.getElementById('\(id)').checkVisibility()") == "true"
  }

  @Test func `map and numbers fit on one screen without being cut off`() throws {
    try open()
    #expect(try isLive())
    for (width, height) in [(1280, 800), (1920, 1080)] {
      try browser.showOn(width: width, height: height)
      let map = "document.getElementById('map').getBoundingClientRect()"
      // The map takes most of the screen.
      #expect(try browser.shows("true", at: "\(map).height > innerHeight * 0.8"), "\(width)")
      #expect(try browser.shows("true", at: "\(map).width > innerWidth * 0.6"), "\(width)")
      let column = "document.getElementById('panel-now')"
      // The page adapts to a new screen size with its next frame.
      #expect(try browser.shows("true", at: "\(column).scrollHeight <= \(column).clientHeight"), "\(width)")
      #expect(try browser.shows("true", at: "\(column).scrollWidth <= \(column).clientWidth"), "\(width)")
      #expect(try browser.shows("\(height)", at: "document.documentElement.scrollHeight"), "\(width)")
    }
  }

  @Test func `the user's choice of units, language and colours survives a reload of the page`() throws {
    let port = try open()
    #expect(try isLive())
    #expect(try text(of: "speed-unit") == "m/s" && text(of: "zone") == "UTC")
    #expect(try browser.sees(#"/^52\.51\d{4}° N$/.test(text('lat'))"#))
    try browser.choose("speed", "kn")
    try browser.choose("place", "minutes")
    try browser.choose("theme", "night")
    try browser.choose("language", "de")
    func isChosen() throws -> Bool {
      try browser.sees(
        #"""
        text('speed-unit') === 'kn' && /^52° 3\d\.\d{3}′ N$/.test(text('lat'))
          && /^013° 2\d\.\d{3}′ O$/.test(text('lon')) && text('mode') === 'fusioniert'
          && document.documentElement.lang === 'de'
        """#)
    }
    #expect(try isChosen())
    try browser.open("http://localhost:\(port)/")
    #expect(try isChosen())
    // The text is red on black.
    let colour = "getComputedStyle(document.body).color.match(/\\d+/g).map(Number)"
    #expect(try browser.text("((c) => c[0] > 200 && c[1] < 110 && c[2] < 110)(\(colour))") == "true")
    #expect(try browser.text("getComputedStyle(document.body).backgroundColor") == "rgb(0, 0, 0)")
    // A knot is 1852 metres an hour: the same state in both units.
    let speeds = """
      (async () => {
        const words = await import('/settings.js'); words.choose('speed', 'kn');
        return [words.speedIn(1852 / 3600), words.pressureIn(338638.9 / 100).toFixed(3)].join() })()
      """
    #expect(try browser.awaitedText(speeds) == "1,33.864")
    try browser.expectAccessible()
    browser.save(as: "night-de")
  }

  @Test func `each language has all words, and the page uses no others`() throws {
    try open()
    let source = try browser.awaitedText("fetch('words.js').then((answer) => answer.text())")
    func keys(_ language: String) -> Set<Substring> {
      let table = source.split(separator: "\n  \(language): {")[1].split(separator: "\n  },")[0]
      return Set(table.matches(of: /"([a-zA-Z0-9.]+)": "/).map(\.output.1))
    }
    let (english, german) = (keys("en"), keys("de"))
    #expect(english.count > 200)
    #expect(english == german, "\(english.symmetricDifference(german))")
    let used = try browser.text(
      "[...document.querySelectorAll('[data-word], [data-label]')].flatMap((e) => [e.dataset.word, e.dataset.label])"
        + ".filter((key) => key).join()")
    for key in used.split(separator: ",") { #expect(english.contains(key), "\(key)") }
    var called: Set<Substring> = []
    for script in ["dashboard.js", "settings.js", "trend.js", "pictures.js"] {
      let text = try browser.awaitedText("fetch('\(script)').then((answer) => answer.text())")
      called.formUnion(text.matches(of: /\bt\("([a-zA-Z0-9.]+)"[,)]/).map(\.output.1))
    }
    #expect(called.count > 60 && called.isSubset(of: english), "\(called.subtracting(english))")
  }

  @Test func `the map can be moved and zoomed by wheel, pointer and keys, can follow the board, and can turn`() throws {
    let port = try open()
    #expect(try isLive())
    // The script reads the position and text of the map scale.
    try browser.run(
      """
      const draw = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        if (/, (north|course) up/.test(text)) window.scaleText = String(text);
        return draw.call(this, text, ...place);
      };
      """)
    try browser.run("document.getElementById('chart').focus()")
    func press(_ key: String) throws {
      try browser.run(
        """
        document.getElementById('chart').dispatchEvent(
          new KeyboardEvent('keydown', { key: '\(key)', bubbles: true, cancelable: true }))
        """)
    }
    #expect(try browser.text("element('map-all').ariaPressed") == "true")
    #expect(try browser.sees("window.scaleText.endsWith(', north up')"))
    try browser.run("window.firstText = window.scaleText")
    try browser.run(
      """
      const box = document.getElementById('chart').getBoundingClientRect();
      for (let turn = 0; turn < 6; turn++) document.getElementById('chart').dispatchEvent(new WheelEvent(
        'wheel', { deltaY: -200, clientX: box.left + 100, clientY: box.top + 100, cancelable: true }))
      """)
    #expect(try browser.sees("window.scaleText !== window.firstText && element('map-all').ariaPressed === 'false'"))
    try press("0")
    #expect(try browser.shows("true", at: "element('map-all').ariaPressed"))
    try press("f")
    #expect(try browser.shows("true", at: "element('map-follow').ariaPressed"))
    try press("c")
    #expect(try browser.sees("window.scaleText.endsWith(', course up')"))
    // A choice persists, and a map moved by hand no longer follows the board.
    try browser.open("http://localhost:\(port)/")
    #expect(try browser.shows("true", at: "element('map-follow').ariaPressed"))
    try press("ArrowLeft")
    #expect(try browser.shows("false", at: "element('map-follow').ariaPressed"))
    try press("f")
    #expect(try browser.shows("true", at: "element('map-follow').ariaPressed"))
    for (type, x) in [("pointerdown", 300), ("pointermove", 340), ("pointerup", 340)] {
      try browser.run(
        """
        document.getElementById('chart').dispatchEvent(new PointerEvent(
          '\(type)', { pointerId: 7, clientX: \(x), clientY: 300, bubbles: true }))
        """)
    }
    #expect(try browser.shows("false", at: "element('map-follow').ariaPressed"))
    #expect(try browser.log("browser").isEmpty)
  }

  @Test func `keys switch between panels, and a board has only the panels that it has data for`() throws {
    try open()
    #expect(try isLive())
    let tabs = "[...document.querySelectorAll('[role=tab]')].filter((tab) => tab.checkVisibility())"
    let names = "\(tabs).map((tab) => tab.textContent).join()"
    #expect(try browser.shows("Now,Hour,Sky,Attitude,Devices,Day,Anchor", at: names))
    try browser.run("document.getElementById('tab-now').focus()")
    func press(_ key: String) throws {
      let event = "new KeyboardEvent('keydown', { key: '\(key)', bubbles: true })"
      try browser.run("document.activeElement.dispatchEvent(\(event))")
    }
    try press("ArrowRight")
    #expect(try browser.text("document.activeElement.id") == "tab-hour")
    #expect(try isVisible("panel-hour") && !isVisible("panel-now"))
    #expect(try browser.text("\(tabs).filter((tab) => tab.tabIndex === 0).length") == "1")
    try press("End")
    #expect(try browser.text("document.activeElement.id") == "tab-anchor")
    try press("ArrowRight")
    #expect(try browser.text("document.activeElement.id") == "tab-now")
    // A barometer alone has no place on a map.
    let port = SocketClient.freePort()
    let other = HubProcess(
      board:
        "{ name: \"air\", devices: { baro: { driver: \"bme280\", bus: \"simulated/i2c\" } }, http: { port: \(port) } }")
    #expect(other.logs("dashboard on"))
    try browser.open("http://localhost:\(port)/")
    #expect(try browser.shows("Now,Hour,Devices,Day", at: names))
    #expect(try browser.sees("text('pressure').endsWith(' hPa')"))
    #expect(try isVisible("pressure") && !isVisible("map") && !isVisible("speed") && !isVisible("volts"))
    try browser.expectAccessible()
    #expect(other.stop() == 0)
  }

  @Test func `the page reports that the hub came back in another version, and reloads itself`() throws {
    let port = SocketClient.freePort()
    let hub = try open(port)
    #expect(try isLive())
    let version = try browser.text("document.body.dataset.version")
    #expect(version.contains("-"))
    try browser.run("document.body.dataset.version = 'older'; window.isOld = true")
    hub.stop(SIGKILL)
    #expect(try browser.sees("text('banner').includes('hub: connection lost for ')"))
    #expect(try browser.text("document.querySelector('#banner li').className") == "problem")
    let next = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(try browser.sees("text('banner').includes('hub: now version \(version)')"))
    #expect(try !text(of: "banner").contains("connection lost"))
    #expect(try browser.text("document.title").hasPrefix("⚠ other version · "))
    try browser.run("document.querySelector('#banner .act').click()")
    #expect(try browser.shows("undefined", at: "window.isOld"))
    #expect(try browser.shows(version, at: "document.body.dataset.version"))
    #expect(try isLive())
    #expect(try browser.text("document.getElementById('banner').hidden") == "true")
    #expect(next.stop() == 0)
  }

  @Test func `small charts show the last hour, with a recorder also from before the page was opened`() throws {
    let day = RecordedDay()
    // The speed is higher than the simulated vehicle's.
    try day.write(adding: #""velocity":{"speed":77.0,"track":90.0,"age":0.0,"source":"gps"}"#)
    let hub = try open(SocketClient.freePort(), more: ", record: { path: \"\(day.path)\", syncSeconds: 0.2 }")
    #expect(try isLive())
    try browser.open(panel: "hour")
    let names = "[...document.querySelectorAll('#trends h3')].map((e) => e.textContent).join()"
    #expect(try browser.shows("Speed,Heading,Satellites", at: names))
    let label = "document.querySelector('#trends canvas').getAttribute('aria-label')"
    let whole = #"/^Speed in the last hour: from .* m\/s to 77\.0 m\/s, now .* m\/s$/"#
    #expect(try browser.sees("\(whole).test(\(label))"))
    let asked = try browser.log("performance").contains {
      $0.message.contains("/history?from=") && $0.message.contains("&every=20")
    }
    // The page can have the recorded speed from there only.
    #expect(asked)
    try browser.choose("speed", "km/h")
    #expect(try browser.sees("\(label).endsWith(' km/h')"))
    try browser.expectAccessible()
    #expect(hub.stop() == 0)
  }

  @Test func `without a recorder, the page itself stores when each device was on, and shows energy per client`() throws
  {
    let hub = try open(SocketClient.freePort())
    #expect(try isLive())
    try browser.open(panel: "day")
    let label = "[...document.querySelectorAll('.life')].find((row) => row.dataset.id === 'gps')?.lastChild.ariaLabel"
    let once = "/^gps: on for .* of the last 24 hours, once; last state: tracking$/"
    #expect(try browser.sees("\(once).test(\(label))"))
    #expect(try browser.sees("element('energy-log').innerText.includes('web 127.0.0.1')"))
    try browser.run("document.getElementById('pause').click()")
    #expect(hub.comesToRest())
    #expect(try browser.sees("\(label).endsWith(', once; last state: off')"))
    try browser.run("document.getElementById('pause').click()")
    #expect(try browser.sees("\(label).endsWith(', 2 times; last state: tracking')"))
    #expect(hub.stop() == 0)
  }

  @Test func `the whole page is at most 150 kB`() throws {
    let port = try open()
    #expect(try isLive())
    let resources = "[document.URL, ...performance.getEntriesByType('resource').map((e) => e.name)]"
    let addresses = try browser.text(
      "[...new Set(\(resources))].filter((name) => /\\/(?:[a-z]+\\.(?:js|css))?$/.test(name)).join()")
    var sum = 0
    for address in addresses.split(separator: ",") {
      let path = "/" + address.split(separator: "/", maxSplits: 2).dropFirst(2).joined()
      sum += HTTPAnswer(port, "GET", path, ["Accept-Encoding: gzip"]).bodyByteCount
    }
    #expect(addresses.contains("words.js") && addresses.contains("wall.css"))
    #expect(sum > 10_000 && sum < 150_000, "\(sum) bytes: \(addresses)")
  }
}
