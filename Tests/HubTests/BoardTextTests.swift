import Fusion
import TestSupport
import Testing

@testable import Hub

/// The permitted strings and numbers of a board file.
struct BoardTextTests {
  private func read(_ text: String) throws(BoardError) -> Board {
    try Board(json5: Array(text.utf8), file: "board")
  }

  private func message(_ text: String) -> String {
    do throws(BoardError) {
      _ = try read(text)
      return "none"
    } catch {
      return error.description
    }
  }

  /// The bytes of a string that a board file quotes like this, read as the board's name.
  private func name(_ quoted: String) throws(BoardError) -> [UInt8] { Array(try read("{ name: \(quoted) }").name.utf8) }

  @Test(arguments: [
    (
      "{ name: 'a\\nb' }",
      "board:1: 'name' must be a text without control characters such as line ends; it has U+000A"
    ),
    ("{ name: 'x',\n record: { path: '/a\\nExecStartPre=+/bin/x' } }", "board:2: 'record.path' must be a text without"),
    (
      "{ name: 'x', devices: {\n gps: { driver: 'nmea', port: '/dev/\\u009b1m' } } }",
      "board:2: 'devices.gps.port' must"
    ),
    ("{ name: 'x', http: { hosts: ['a', 'b\\u2028'] } }", "'http.hosts[1]' must be a text without"),
    ("{ name: 'x', gpsd: { allow: ['\\x7f'] } }", "'gpsd.allow[0]' must be a text without"),
    ("{ name: 'x', 'a\\u001b[2J': 1 }", "'a\u{FFFD}[2J' must be a key without control characters"),
    ("{ name: 'x', devices: { 'g\\n': {} } }", "'devices.g\u{FFFD}' must be a key without"),
    // The tab is a character of the file itself, and not an escape.
    ("{ name: 'a\tb' }", "it has U+0009"),
    ("{ name: 'x', chrony: { socket: '/a\u{85}b' } }", "'chrony.socket' must be a text without"),
  ])
  func `keys and strings with control characters are refused`(_ text: String, _ reason: String) {
    #expect(message(text).contains(reason), "\(message(text))")
    #expect(message(text).unicodeScalars.allSatisfy { !BoardSection.isControl($0) })
  }

  @Test func `syntax errors show no control characters`() {
    for text in ["{ 'a\\n\\u001b[2J' 5 }", "{ 'a\\u001b': 1, 'a\\u001b': 1 }", "{ a: \u{9B}2J }", "{ 'a\\n': 1 2 }"] {
      #expect(
        message(text).unicodeScalars.allSatisfy { !BoardSection.isControl($0) }, "\(message(text).debugDescription)")
    }
  }

  @Test func `a string's escapes are those of JSON5`() throws {
    #expect(try name(#"'\x41\xe9'"#) == Array("A\u{e9}".utf8))
    #expect(try name(#"'\ud83d\ude80 \u00fc \'\"\\ \/ \q'"#) == Array("\u{1F680} \u{fc} '\"\\ / q".utf8))
    for end in ["\n", "\r", "\r\n", "\u{2028}", "\u{2029}"] {
      #expect(try name("'a\\\(end)b'") == Array("ab".utf8), "\(end.debugDescription)")
    }
    // The parser accepts these escapes. The board file then refuses the control characters.
    for (escape, number) in [("b", "08"), ("f", "0C"), ("v", "0B"), ("0", "00"), ("n", "0A"), ("r", "0D"), ("t", "09")]
    {
      #expect(message("{ name: 'a\\\(escape)' }").contains("it has U+00\(number)"), "\(escape)")
    }
    for wrong in [
      #"\ud83d"#, #"\ud83dx"#, #"\ud83d\u0041"#, #"\ude80"#, #"\u12"#, #"\u+123"#, #"\xg0"#, #"\x4"#, #"\1"#, #"\01"#,
    ] {
      #expect(message("{ name: 'a\(wrong)' }").hasPrefix("board:1: '\\"), "\(message("{ name: 'a\(wrong)' }"))")
    }
    #expect(message("{ name: 'a\rb' }") == "board:1: a string is not closed on its line")
  }

  @Test func `a string that is not UTF-8 is refused and not repaired`() {
    let bytes = Array("{ name: '".utf8) + [0x66, 0xFC, 0x72] + Array("' }".utf8)
    #expect(throws: BoardError.syntax(file: "board", line: 1, reason: "a string is not UTF-8")) {
      try Board(json5: bytes, file: "board")
    }
  }

  @Test(arguments: [
    "gps: { driver: 'nmea', port: '/p', leverArmMetres: [1e154, 0, 0] }",
    "gps: { driver: 'nmea', port: '/p', leverArmMetres: [0, 0, -1001] }",
    "imu: { driver: 'mpu-6050', bus: '/b', mount: [[1, 0, 0], [0, 1, 0], [0, 0, 1e154]] }",
    "imu: { driver: 'mpu-6050', bus: '/b', mount: [[1, 0, 0], [0, 1, 0], [0, 0, 2]] }",
  ])
  func `a number out of range is refused`(_ device: String) {
    #expect(message("{ name: 'x', devices: { \(device) } }").contains(" must be "), "\(device)")
  }

  /// A board file with most keys for numbers. Each number is between two number signs.
  private static let everyNumber = """
    { name: 'every number', state: { rateHz: #20# },
      devices: {
        gps: { driver: 'ublox', port: '/dev/ttyAMA0', speed: #9600#, rateHz: #5#, headingOffsetDegrees: #90#,
          fixLatencyMilliseconds: #100#, leverArmMetres: [#0.5#, #0#, #-1#],
          power: { switch: 'gpio', chip: 'pinctrl-rp1', line: 'GPIO17', currentMilliamperes: #30#,
            standbyMilliamperes: #1#, supplyVolts: #3.3#, settleMilliseconds: #100#, lingerSeconds: #20#,
            minimumOnSeconds: #6#, minimumOffSeconds: #2#, milliwattHoursPerDay: #240#,
            whenShort: { everySeconds: #300# } } },
        imu: { driver: 'lsm6dsox', bus: '/dev/i2c-1', address: #0x6a#, rateHz: #104#, accelerometerRangeG: #4#,
          gyroscopeRangeDegreesPerSecond: #500#, burstRateHz: #25#,
          mount: [[#1#, #0#, #0#], [#0#, #1#, #0#], [#0#, #0#, #1#]] },
        mag: { driver: 'lis3mdl', bus: '/dev/i2c-1', address: #0x1c#, rateHz: #10# },
        baro: { driver: 'bme280', bus: '/dev/i2c-1', address: #0x76#, rateHz: #1# },
        supply: { driver: 'ina226', bus: '/dev/i2c-1', address: #0x40#, rateHz: #1#, shuntOhms: #0.1#,
          lowVolts: #11#, power: { supplyVolts: #3.3# } },
        house: { driver: 'ina226', bus: '/dev/i2c-1', address: #0x41#, shuntOhms: #0.01# } },
      battery: { monitor: 'house', low: #12#, critical: #11.5#, hysteresis: #0.3#, grace: #30#, every: #60#,
        afterStart: #300#, whenShort: { everySeconds: #300#, accuracyMetres: #50# } },
      fences: { anchor: { circle: [#54.1#, #10.2#, #40#], grace: #10#, every: #60#, speed: #2#, accuracy: #10# },
        harbour: { polygon: [[#54#, #10#], [#54.1#, #10#], [#54.1#, #10.1#]] } },
      gpsd: { port: #2947#, clients: #8# }, nmea: { port: #10110#, source: 'fused', rateHz: #1# },
      http: { port: #8080# },
      record: { path: '/var/lib/sensorhub/recordings', maximumMegabytes: #100#, maximumAgeHours: #24#,
        syncSeconds: #5# },
    }
    """

  @Test func `every number has a range`() {
    let parts = BoardTextTests.everyNumber.split(separator: "#", omittingEmptySubsequences: false)
    #expect(message(parts.joined()) == "none")
    #expect(parts.count > 2 * 50)
    for index in stride(from: 1, to: parts.count, by: 2) {
      for number in ["1e154", "-1e154"] {
        var wrong = parts
        wrong[index] = number[...]
        #expect(message(wrong.joined()).hasPrefix("board:"), "\(parts[index - 1].suffix(40))\(number)")
      }
    }
  }

  @Test(arguments: ["--5", "+-5", "0x", "0x+f", "1e", "e5", ".", "- 5", "0x-1", "1e400"])
  func `a text that is not a number is refused`(_ number: String) {
    #expect(message("{ name: 'x', state: { rateHz: \(number) } }") != "none", "\(number)")
  }

  @Test func `a calibration with numbers out of range is refused`() {
    let text = "{ gyro: { at: 1, quality: 1, bias: [0, 1e154, 0] } }"
    #expect(throws: BoardError.self) { try ChipCalibration(json5: Array(text.utf8), file: "chip") }
  }

  @Test(arguments: [
    "https://t/{z}/{x}/{y}; script-src 'unsafe-inline'", "https://t;script-src *;/{z}/{x}/{y}", "https://*/{z}/{x}/{y}",
    "https://a b/{z}/{x}/{y}", "https://user@t/{z}/{x}/{y}", "https://t,u/{z}/{x}/{y}", "https:///{z}/{x}/{y}",
    "https://t/{z}/{x}/{y}\"onload", "http://t:0/{z}/{x}/{y}", "ftp://t/{z}/{x}/{y}", "https://ü/{z}/{x}/{y}",
    "https://t/{z}/{x}", "/etc/shadow", "maps/harbour.pmtiles",
  ])
  func `map tiles need a single plain web address without other text`(_ tiles: String) {
    let quoted = tiles.replacing("\"", with: "\\\"")
    #expect(message("{ name: 'x', http: { tiles: \"\(quoted)\" } }").contains("'http.tiles' must be an address"))
  }

  @Test func `map tiles may come from a file, with the credit that the board file states`() throws {
    let text = "{ name: 'x', http: { tiles: '/srv/maps/harbour.pmtiles', attribution: '© Some Body' } }"
    let http = try #require(try Board(json5: Array(text.utf8), file: "board").http)
    #expect(http.tileFile == "/srv/maps/harbour.pmtiles" && http.credit == "© Some Body")
  }

  @Test func `the tile server is stated by its name and port`() {
    #expect(TileOrigin(of: "https://t.example:8443/a/{z}/{x}/{y}.png?k=1")?.description == "https://t.example:8443")
    #expect(TileOrigin(of: "http://[2001:db8::1]/{z}/{x}/{y}")?.description == "http://[2001:db8::1]")
  }
}
