import TestSupport
import Testing

/// The energy that an open page causes, and the devices that it keeps on.
extension DashboardTests {
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
}
