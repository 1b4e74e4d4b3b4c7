import HardwareIO
import TestSupport
import Testing

/// The map of the page, its track and its recorded data.
extension DashboardTests {
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
}
