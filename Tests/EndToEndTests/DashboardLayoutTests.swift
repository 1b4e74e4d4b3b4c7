import TestSupport
import Testing

/// The page on a desktop, on a phone and with a screen reader.
extension DashboardTests {
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
}
