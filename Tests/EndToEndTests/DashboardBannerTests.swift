import NMEA
import TestSupport
import Testing

/// The banner and the title of the page.
extension DashboardTests {
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
}
