import Hub
import Testing

/// All mistakes of a board file at once.
struct BoardMistakesTests {
  private func mistakes(_ text: String) -> [String] {
    BoardMistakes(json5: Array(text.utf8), file: "b.json5").all.map { "\($0)" }
  }

  @Test func `each mistake is reported once, with its line and key`() {
    let text = """
      { name: "x",
        devices: {
          gps: { driver: "nmea", prot: "/dev/ttyS0" },
          imu: { driver: "mpu-6050", bus: "/dev/i2c-1", rateHz: "fast" },
          mag: { driver: "lis3mdl" },
        },
        fusion: { devices: ["gps", "imu"] },
        state: { rateHz: 5000 },
        nmea: [{ port: 10110 }, { port: 70000 }],
        htpp: {},
      }
      """
    let found = mistakes(text)
    #expect(
      found.map { $0.split(separator: " ")[0] }.sorted()
        == ["b.json5:10:", "b.json5:3:", "b.json5:4:", "b.json5:5:", "b.json5:8:", "b.json5:9:"], "\(found)")
    #expect(found.contains("b.json5:3: unknown key 'devices.gps.prot'; did you mean 'devices.gps.port'?"), "\(found)")
    #expect(found.contains { $0.hasPrefix("b.json5:9: 'nmea[1].port' must be ") }, "\(found)")
  }

  @Test func `each misplaced key is reported once, with the object that it belongs in`() {
    let found = mistakes(
      "{ name: 'x',\n path: '/r',\n devices: { gps: { driver: 'nmea', port: 'p', lingerSeconds: 5 } } }")
    #expect(
      found == [
        "b.json5:3: unknown key 'devices.gps.lingerSeconds'; it belongs in 'devices.gps.power'",
        "b.json5:2: unknown key 'path'; it belongs in 'record'",
      ])
  }

  @Test func `the objects that misplaced keys belong in are not searched in a file of a thousand devices`() {
    let devices = (0..<1000).map { "d\($0): { driver: 'nmea', port: '/p\($0)', lingerSeconds: 5 }" }
    let found = mistakes("{ name: 'x', devices: { \(devices.joined(separator: ", ")) } }")
    #expect(found.first == "b.json5:1: unknown key 'devices.d0.lingerSeconds'", "\(found)")
  }

  @Test func `a board without a name is still checked for other mistakes`() {
    let found = mistakes("{ devices: { gps: { driver: 'nmea', port: '/p', speed: 1 } } }")
    #expect(found.count == 2 && found.contains { $0.hasSuffix("'name' is missing") }, "\(found)")
  }

  @Test func `a valid board file has no mistakes and is read completely`() {
    let board = BoardMistakes(json5: Array("{ name: 'x', devices: {} }".utf8), file: "b")
    #expect(board.all.isEmpty && board.rest?.name == "x")
  }

  @Test func `a text that is not a board file has one mistake`() {
    #expect(mistakes("{ name: ").count == 1 && mistakes("[]").count == 1)
  }

  @Test func `the rest of a file can be checked after a wrong value, but not after a device without required keys`() {
    let value = BoardMistakes(json5: Array("{ name: 'x', devices: {}, state: { rateHz: 'fast' } }".utf8), file: "b")
    #expect(value.all.count == 1 && value.rest != nil)
    let device = BoardMistakes(json5: Array("{ name: 'x', devices: { gps: {} } }".utf8), file: "b")
    #expect(device.all.count == 1 && device.rest == nil, "\(device.all)")
  }

  @Test func `each key has its own line, or the line of the object that contains it`() throws {
    let text = "{ name: 'x',\n devices: {\n gps: { port: '/p' } },\n nmea: [\n { port: 1 },\n { port:\n 2 }] }"
    let lines = try #require(BoardLines(json5: Array(text.utf8)))
    let expected = [
      "name": 1, "devices": 2, "devices.gps": 3, "devices.gps.port": 3, "devices.gps.speed": 3, "nmea[0].port": 5,
      "nmea[1].port": 7, "nmea[1]": 6, "nmea": 4, "mqtt": 1,
    ]
    for (key, line) in expected { #expect(lines.line(of: key) == line, "\(key)") }
  }
}
