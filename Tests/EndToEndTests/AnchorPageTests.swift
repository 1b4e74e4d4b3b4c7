import Glibc
import TestSupport
import Testing

/// An anchor dropped on the dashboard, with and without a hub that accepts fences at run time.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(15))) struct AnchorPageTests {
  // The vehicle drives around, so it stays within the anchor's radius for some seconds.
  private let hub: HubProcess
  private let port: UInt16
  private let browser: Browser

  init() throws {
    let shared = try SharedHub.shared()
    (hub, port) = (shared.hub, shared.port)
    browser = try Browser()
    // An earlier test may have left its anchor at the hub.
    _ = HTTPAnswer(port, "DELETE", "/fences/anchor")
    try open(port)
  }

  private func open(_ port: UInt16) throws {
    try browser.open("http://localhost:\(port)/")
    try browser.open(panel: "anchor")
  }

  private func text(of id: String) throws -> String { try browser.text("document.getElementById('\(id)').textContent") }

  private func click(_ id: String) throws { try browser.run("document.getElementById('\(id)').click()") }

  private func slide(to metres: Int) throws {
    try browser.run(
      """
      const slider = document.getElementById('anchor-radius'); slider.value = \(metres);
      for (const name of ['input', 'change']) slider.dispatchEvent(new Event(name, { bubbles: true }))
      """)
  }

  private func drop(_ metres: Int) throws {
    try slide(to: metres)
    #expect(try browser.sees("!element('anchor-drop').disabled"))
    try click("anchor-drop")
    #expect(try browser.shows("Raise anchor", at: "text('anchor-drop')"))
  }

  @Test func `a dragging anchor shows in the banner and the title, and sounds until it is silenced or raised`() throws {
    try browser.run(
      """
      window.tones = 0;
      const make = BaseAudioContext.prototype.createOscillator;
      BaseAudioContext.prototype.createOscillator = function () { window.tones += 1; return make.call(this) };
      Object.defineProperty(BaseAudioContext.prototype, 'state', { get: () => 'running' });
      """)
    #expect(try browser.text("document.getElementById('anchor-sound').ariaPressed") == "false")
    try click("anchor-sound")
    #expect(try browser.shows("true", at: "document.getElementById('anchor-sound').ariaPressed"))
    try drop(10)
    #expect(try browser.sees("text('banner').includes('anchor: dragging for ')", within: .seconds(240)))
    #expect(try text(of: "banner").contains(" m beyond the edge"))
    #expect(try browser.text("document.querySelector('#banner li').className") == "problem")
    #expect(try browser.text("document.title").hasPrefix("⚠ anchor dragging · "))
    let tones = try Int(browser.text("window.tones")) ?? 0
    #expect(try browser.sees("window.tones > \(tones + 4)"))
    try browser.expectAccessible()
    browser.save(as: "anchor-dragging")
    // The vehicle passes the anchor again after a lap of 70 s, and the audit may take a busy machine as long.
    #expect(try browser.sees("text('banner').includes('anchor: dragging for ')", within: .seconds(240)))
    // The alarm is silent, but still shown.
    try browser.run("document.querySelector('#banner .act').click()")
    #expect(try browser.sees("text('anchor-note').includes('silent for another ')"))
    #expect(try text(of: "banner").contains("anchor: dragging for "))
    try click("anchor-drop")
    #expect(try browser.shows("Drop anchor here", at: "text('anchor-drop')"))
    #expect(try browser.shows("true", at: "document.getElementById('banner').hidden"))
    #expect(try !browser.text("document.title").contains("anchor"))
  }

  @Test func `an anchor survives a reload of the page, and is reported as blind without the hub`() throws {
    let port = SocketClient.freePort()
    let hub = HubProcess(board: HubProcess.simulatedBoard("http: { port: \(port) }"))
    #expect(hub.logs("dashboard on"))
    try open(port)
    try drop(300)
    #expect(try browser.sees("text('anchor-state').includes('holding · ')"))
    try browser.open("http://localhost:\(port)/")
    #expect(try browser.sees("text('anchor-state').includes('holding · ')"))
    #expect(try text(of: "anchor-metres") == "300 m" && text(of: "anchor-drop") == "Raise anchor")
    // A paused page watches nothing, and says so.
    try click("pause")
    #expect(try browser.sees("text('banner').includes('anchor: paused')"))
    try click("pause")
    #expect(try browser.sees("text('anchor-state').includes('holding · ')"))
    hub.stop(SIGKILL)
    #expect(try browser.sees("text('banner').includes('anchor: blind for ')", within: .seconds(240)))
    #expect(try browser.text("document.title").contains("⚠ anchor watch blind"))
  }

  @Test func `a hidden page watches its anchor, and lets the devices sleep once it is raised`() throws {
    try drop(10)
    try browser.minimize()
    let title = "⚠ anchor dragging · "
    #expect(try browser.sees("document.title.startsWith('\(title)')", within: .seconds(240)))
    #expect(try browser.text("document.hidden") == "true")
    #expect(hub.devicesNow["gps"].power != "off")
    try click("anchor-drop")
    #expect(hub.comesToRest())
  }

  @Test func `the anchor's radius can be dragged at its edge on the map`() throws {
    try drop(100)
    // The click is east of the anchor: the map shows north up, and everything fits.
    try browser.run(
      """
      window.drag = (share) => {
        const chart = document.getElementById('chart'); const box = chart.getBoundingClientRect();
        const [x, y] = window.edge;
        for (const [type, across] of [['pointerdown', x], ['pointermove', x + share], ['pointerup', x + share]]) {
          chart.dispatchEvent(new PointerEvent(type, { pointerId: 5, clientX: box.left + across, clientY: box.top + y, bubbles: true }));
        }
      };
      const draw = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
        if (text === '↔') {
          window.edge = [x, y];
          // The edge moves on the map with the vehicle, so the pointer takes hold of it where it was just drawn.
          if (parseInt(document.getElementById('anchor-metres').textContent) <= 105) setTimeout(() => window.drag(60));
        }
        return draw.call(this, text, x, y);
      };
      """)
    #expect(try browser.sees("Array.isArray(window.edge)"))
    #expect(try browser.sees("parseInt(text('anchor-metres')) > 105"))
    #expect(try browser.text("document.getElementById('map-all').ariaPressed") == "true")
  }

  @Test func `the hub watches an anchor too, and a second page can watch and raise it`() throws {
    func fences() -> String { HTTPAnswer(port, "GET", "/fences").body }
    try drop(200)
    #expect(try browser.sees("text('anchor-note').includes('The hub watches the anchor too')"))
    #expect(fences().contains(#""anchor":{"#) && fences().contains(#""added":true"#), "\(fences())")
    try slide(to: 250)
    #expect(eventually { fences().contains(",250.0") }, "\(fences())")
    try click("anchor-drop")
    #expect(eventually { !fences().contains(#""anchor":{"#) })
    let isListed = "[...document.querySelectorAll('.fence h3')].some((e) => e.textContent === 'anchor')"
    #expect(try browser.shows("false", at: isListed))
    // Another page has dropped this anchor.
    let other = #"{"name": "anchor", "radiusMetres": 220, "latitude": 52.5163, "longitude": 13.3777}"#
    #expect(HTTPAnswer(port, "POST", "/fences", ["Content-Length: \(other.utf8.count)"], body: other).status == 201)
    let watch = "document.querySelector('.fence .watch')"
    #expect(try browser.sees("\(watch).checkVisibility()"))
    try browser.run("\(watch).click()")
    #expect(try browser.shows("220 m", at: "text('anchor-metres')"))
    #expect(try browser.shows("Raise anchor", at: "text('anchor-drop')"))
    try click("anchor-drop")
    #expect(eventually { !fences().contains(#""anchor":{"#) })
  }

  @Test func `a page does not offer to watch the anchor that it has just raised`() throws {
    // The page learns late that its fence has been removed, and gets an outdated list of fences.
    try browser.run(
      """
      window.late = [];
      const usual = window.fetch;
      window.fetch = async (address, options = {}) => {
        const answer = await usual(address, options);
        const isLate = window.isSlow && (options.method === 'DELETE' || address === 'fences');
        if (isLate) await new Promise((go) => window.late.push({ method: options.method, go }));
        return answer;
      };
      window.offers = 0;
      new MutationObserver(() => {
        const watch = document.querySelector('.fence .watch');
        if (window.isSlow && watch?.checkVisibility()) window.offers += 1;
      }).observe(document.body, { subtree: true, childList: true, attributes: true, characterData: true });
      """)
    try drop(300)
    let isListed = "[...document.querySelectorAll('.fence h3')].some((e) => e.textContent === 'anchor')"
    #expect(try browser.shows("true", at: isListed))
    // The list comes from before the end of the fence.
    try browser.run("window.isSlow = true")
    #expect(try browser.shows("true", at: "window.late.some((one) => one.method === undefined)"))
    try click("anchor-drop")
    #expect(try browser.shows("Drop anchor here", at: "text('anchor-drop')"))
    #expect(try browser.shows("true", at: "window.late.some((one) => one.method === 'DELETE')"))
    // The fence is listed until the hub has confirmed its end.
    #expect(try browser.text(isListed) == "true")
    #expect(try browser.text("document.querySelector('.fence .watch').checkVisibility()") == "false")
    try browser.run("window.late.find((one) => one.method === 'DELETE').go()")
    #expect(try browser.shows("false", at: isListed))
    let utc = try text(of: "utc")
    try browser.run("for (const one of window.late) one.go()")
    #expect(try browser.sees("text('utc') !== '\(utc)'"))
    #expect(try browser.text(isListed) == "false")
    #expect(try browser.text("window.offers") == "0")
  }

  @Test func `if the hub refuses the fence or has no fences, only the page watches the anchor`() throws {
    try browser.run(
      """
      window.answer = new Response('{"error":{"message":"fences are for root"}}', { status: 403 });
      const usual = window.fetch;
      window.fetch = (address, options = {}) =>
        options.method === 'POST' && address === 'fences' ? Promise.resolve(window.answer) : usual(address, options);
      """)
    try drop(300)
    let note = "Only this page watches the anchor, because the hub refused the fence: fences are for root"
    #expect(try browser.shows(note, at: "text('anchor-note')"))
    #expect(try browser.sees("text('anchor-state').includes('holding · ')"))
    try click("anchor-drop")
    try browser.run("window.answer = new Response('', { status: 404 })")
    try drop(300)
    #expect(try browser.sees("text('anchor-note').startsWith('Only this page watches the anchor: ')"))
  }
}
