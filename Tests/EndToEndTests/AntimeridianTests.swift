import CLinux
import FoundationEssentials
import Glibc
import MCAP
import TestSupport
import Testing

/// A track across the antimeridian is drawn and exported as a short line, and not as one around the globe.
@Suite(.serialized, .sharesFixtures, .timeLimit(.minutes(10))) struct AntimeridianTests {
  private let temporary = TemporaryFolder("antimeridian")

  /// Records twenty positions five seconds apart, from 179.9985° E eastwards over the antimeridian. The last one is two
  /// minutes old.
  private func record() throws -> String {
    let path = "\(temporary.path)/sensorhub-20200101T000000Z-001.mcap"
    var writer = try MCAPWriter(MCAPFileSink(path: path), chunkByteCount: 20_000)
    try writer.add(MCAPMetadata(name: "sensorhub", entries: ["version": "0.1.0", "started": "before"]))
    let states = try writer.addChannel(topic: "/state", messageEncoding: "json")
    let start = clinux_realtime_ns() - 220_000_000_000
    for index in 0..<20 {
      let east = 179.9985 + Double(index) * 2e-4
      let text =
        #"{"class":"STATE","mode":"gnss","monotonic":\#(100 + index * 5),"position":{"lat":-17.5,"#
        + #""lon":\#(east > 180 ? east - 360 : east),"altHAE":\#(50 + index),"age":0.0,"source":"gps"},"#
        + #""fix":{"mode":3,"status":1}}"#
      try writer.append(
        Array(text.utf8), channelID: states, logTimeNanoseconds: UInt64(start + Int64(index) * 5_000_000_000))
    }
    try writer.finish()
    return path
  }

  /// Makes the page keep the label of its map scale in `window.scaleText` from now on.
  private func noteScale(_ browser: Browser) throws {
    try browser.run(
      """
      const draw = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
        if (String(text).includes("north up")) window.scaleText = text;
        return draw.call(this, text, ...place);
      };
      dispatchEvent(new Event("resize"));
      """)
  }

  @Test func `the page shows a recorded track across the antimeridian correctly`() throws {
    _ = try record()
    let port = SocketClient.freePort()
    // The board has no receiver, so the map shows only recorded data.
    let hub = HubProcess(
      board: """
        { name: "test", devices: { imu: { driver: "mpu-6050", bus: "simulated/i2c" } }, http: { port: \(port) },
          record: { path: "\(temporary.path)" } }
        """)
    #expect(hub.logs("dashboard on"), "\(hub.program.standardError)")
    let browser = try Browser()
    try browser.open("http://localhost:\(port)/")
    try noteScale(browser)
    #expect(try browser.sees("window.scaleText.endsWith('0 m, north up')"))
    #expect(hub.stop() == 0)
  }

  @Test func `the page shows a live track across the antimeridian correctly`() throws {
    let port = SocketClient.freePort()
    let log = "\(temporary.path)/log.nmea"
    let sentences = (0..<60).map { index -> String in
      // The unit is a thousandth of a minute, from 179° 59' E.
      let east = 900 + index * 5
      let minutes = east <= 1000 ? east : 2000 - east
      let digits = String(repeating: "0", count: 3 - "\(minutes % 1000)".count) + "\(minutes % 1000)"
      let place = minutes == 1000 ? "18000.000" : "17959.\(digits)"
      let second = index < 10 ? "0\(index)" : "\(index)"
      let body = "GPRMC,1000\(second).00,A,1730.000,S,\(place),\(east <= 1000 ? "E" : "W"),18.0,90.0,281126,,,A"
      let sum = String(body.utf8.reduce(0, ^), radix: 16, uppercase: true)
      return "$\(body)*\(sum.utf8.count == 1 ? "0" : "")\(sum)"
    }
    HubProcess.write(sentences.joined(separator: "\r\n") + "\r\n", to: log)
    let board = "\(temporary.path)/board.json5"
    HubProcess.write(
      "{ name: \"log\", devices: { gps: { driver: \"nmea\", port: \"log\" } }, http: { port: \(port) } }", to: board)
    // The replay is over in twelve seconds, which may be less than the browser takes to start.
    let browser = try Browser()
    let replay = Program([
      "replay", log, "--board", board, "--socket", "\(temporary.path)/hub.sock", "--stay", "--rate", "5",
    ])
    #expect(replay.logs("dashboard on"), "\(replay.standardError)")
    try browser.open("http://localhost:\(port)/")
    try noteScale(browser)
    #expect(try browser.sees("text('lon').endsWith('W')"))
    #expect(try browser.sees("window.scaleText.endsWith(' m, north up')"))
    replay.send(SIGTERM)
    replay.wait()
  }

  @Test func `the fleet's page shows hubs on both sides of the antimeridian side by side`() throws {
    let broker = Broker()
    let port = SocketClient.freePort()
    for (name, longitude) in [("east", -179.999), ("west", 179.999)] {
      let position = #"{"lat":-17.5,"lon":\#(longitude),"age":1.0,"source":"gps"}"#
      broker.publish("sensorhub/\(name)/status", "online")
      broker.publish(
        "sensorhub/\(name)/last",
        #"{"said":"2026-11-27T10:00:00.000Z","class":"STATE","mode":"asleep","monotonic":9.0,"position":\#(position)}"#
      )
    }
    let page = Program(["fleet", "--http", "\(port)", broker.address])
    #expect(page.logs("fleet on http://127.0.0.1:\(port)"), "\(page.standardError)")
    let browser = try Browser()
    try browser.open("http://localhost:\(port)/")
    try noteScale(browser)
    let hubs = "document.getElementById('map').getAttribute('aria-label')"
    #expect(try browser.shows("Map: 2 hubs, 0 of them open", at: hubs))
    #expect(try browser.shows("50 m, north up", at: "window.scaleText"))
    page.send(SIGTERM)
    page.wait()
  }

  @Test func `GeoJSON splits a track at the antimeridian into lines that meet there`() throws {
    struct Feature: Decodable {
      struct Geometry: Decodable { var coordinates: [[[Double]]] }
      struct Properties: Decodable {
        var times: [[String]]
        var sigmas: [[Double?]]
      }
      var geometry: Geometry
      var properties: Properties
    }
    let export = Program(["export", try record(), "--format", "geojson"])
    #expect(export.wait() == 0, "\(export.standardError)")
    let feature = try JSONDecoder().decode(Feature.self, from: Data(export.standardOutput.utf8))
    let lines = feature.geometry.coordinates
    #expect(lines.map(\.count) == [9, 13])
    #expect(lines.allSatisfy { line in zip(line, line.dropFirst()).allSatisfy { abs($0[0] - $1[0]) < 1e-3 } })
    let (end, start) = (try #require(lines.first?.last), try #require(lines.last?.first))
    #expect(end[0] == 180 && start[0] == -180)
    #expect(end[1...] == start[1...])
    #expect(abs(end[2] - 57.5) < 0.01)
    #expect(feature.properties.times.map(\.count) == lines.map(\.count))
    #expect(feature.properties.sigmas.map(\.count) == lines.map(\.count))
    #expect(feature.properties.times[0].last == feature.properties.times[1].first)
  }
}
