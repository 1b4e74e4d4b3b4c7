import Glibc
import TestSupport
import Testing

/// Fences on the dashboard, in a browser.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(15))) struct FencePageTests {
  private let port = SocketClient.freePort()
  private let browser: Browser

  init() throws { browser = try Browser() }

  private func board(_ fences: String) -> String {
    HubProcess.simulatedBoard("http: { port: \(port) }, fences: { \(fences) }")
  }

  private func open(_ fences: String) throws -> HubProcess {
    let hub = HubProcess(board: board(fences))
    #expect(hub.logs("dashboard on"))
    try browser.open("http://localhost:\(port)/")
    try browser.open(panel: "anchor")
    return hub
  }

  private func serve(_ fences: String, on hub: HubProcess) {
    HubProcess.write(board(fences), to: hub.boardFile)
    hub.program.send(SIGHUP)
  }

  /// Returns everything that the page says about the fences.
  private func fences() throws -> String { try browser.text("document.getElementById('fences').innerText") }

  private func isVisible(_ selector: String) throws -> Bool {
    try browser.text("document.querySelector('\(selector)').checkVisibility()") == "true"
  }

  /// Waits until the page meets all conditions, which may use `fences`, the text about the fences, and `dots(colour)`,
  /// the number of the map's pixels in a colour of the style. The vehicle passes a place every 70 s.
  private func sees(_ conditions: String...) throws -> Bool {
    try browser.sees(
      """
      (() => {
        const fences = element('fences').innerText;
        const dots = (colour) => {
          const style = getComputedStyle(document.documentElement).getPropertyValue(`--${colour}`);
          const [r, g, b] = style.match(/[0-9a-f]{2}/gi).map((digits) => parseInt(digits, 16));
          const d = pixels(element('map'));
          let count = 0;
          for (let i = 0; i < d.length; i += 4) {
            if (Math.abs(d[i] - r) + Math.abs(d[i + 1] - g) + Math.abs(d[i + 2] - b) < 24) count += 1;
          }
          return count;
        };
        return \(conditions.joined(separator: " && ")); })()
      """, within: .seconds(230))
  }

  private func metric(_ line: String) -> Bool { HTTPAnswer(port, "GET", "/metrics").body.contains("\(line)\n") }

  @Test func `the page shows a board that left its fence in list and map, even while it keeps no device awake`() throws
  {
    // The fence is where the vehicle starts. The vehicle drives 100 m away from there.
    let hub = try open("start: { circle: [52.5163, 13.3777, 50], grace: 2, speed: 20 }")
    // If the page opened too late for the start, the vehicle returns every 70 s.
    let isInside = try sees(
      #"fences.startsWith('start\n')"#, "fences.includes('inside · ')", "fences.includes(' m within the edge, ±')",
      "fences.includes(' fix ')", "element('map').ariaLabel.endsWith('; fence start: inside')", "dots('good') > 50")
    let atFirst = try fences()
    #expect(isInside, "\(atFirst)")
    // Looking at a fence does not keep any device awake.
    try browser.run("document.getElementById('pause').click()")
    #expect(hub.shows("imu", "off"))
    let hasLeft = try sees(
      "fences.includes('outside · left ')", "fences.includes(' m beyond the edge, ±')",
      "element('map').ariaLabel.endsWith('; fence start: outside')", "text('fences-said') === 'fence start: outside'",
      "dots('warn') > 50", "dots('good') === 0")
    let atLast = try fences()
    #expect(hasLeft, "\(atLast)")
    #expect(eventually(within: .seconds(240)) { metric("sensorhub_fence_inside{fence=\"start\"} 0") })
    #expect(eventually(within: .seconds(240)) { metric("sensorhub_fence_inside{fence=\"start\"} 1") })
    #expect(hub.devicesNow["imu"].wakes == 1)
    #expect(hub.devicesNow["gps"].holders.allSatisfy { $0 == "fence start (position)" })
    let log = try browser.log("browser")
    #expect(log.isEmpty, "\(log)")
    // The page does not show earlier findings as present ones.
    hub.stop(SIGKILL)
    #expect(try browser.sees("element('fences').innerText.includes('was ')"))
    #expect(try fences().contains("The hub does not say when the next fix is due."))
    #expect(try browser.text("document.getElementById('fences-age').textContent").hasSuffix(" old"))
  }

  @Test func `fences appear and disappear with the board file, and the page needs no scrolling`() throws {
    let hub = try open("")
    #expect(try browser.shows("2", at: "document.querySelectorAll('.device').length"))
    #expect(try !isVisible(".fences") && fences() == "")
    #expect(try !browser.text("element('map').ariaLabel").contains("fence"))
    #expect(!HTTPAnswer(port, "GET", "/metrics").body.contains("sensorhub_fence_"))
    // The fence is a corner of a town far away.
    let town = "town: { polygon: [[52.6, 13.5], [52.6, 13.51], [52.61, 13.5]] }"
    serve(town, on: hub)
    #expect(
      try sees(
        #"fences.startsWith('town\n')"#, "fences.includes('outside · for ')",
        "fences.includes(' km beyond the edge, ±')"))
    let (list, more) = (
      "document.querySelector('.fences').checkVisibility()", "element('fences-more').checkVisibility()"
    )
    #expect(try browser.sees("\(list) && !\(more)"))
    for scheme in ["light", "dark"] {
      try browser.prefer(scheme: scheme)
      try browser.expectNoScrolling(savingAs: "fence-WIDTH-\(scheme)", at: 800)
    }
    try browser.developerTool("Emulation.clearDeviceMetricsOverride", "{}")
    let others = (1...9).map { "a_fence_of_a_long_name_\($0): { circle: [52.6, 13.5, 1000] }" }
    serve(([town] + others).joined(separator: ", "), on: hub)
    #expect(try browser.shows("10", at: "document.querySelectorAll('.fence').length"))
    #expect(try browser.sees("\(more) && text('fences-more').endsWith(' more')"))
    for scheme in ["light", "dark"] {
      try browser.prefer(scheme: scheme)
      try browser.expectNoScrolling(savingAs: "fences-WIDTH-\(scheme)", at: 800)
      try browser.expectAccessible()
    }
    serve("", on: hub)
    #expect(try browser.sees("!\(list) && element('fences').innerText === ''"))
    #expect(hub.stop() == 0)
  }
}
