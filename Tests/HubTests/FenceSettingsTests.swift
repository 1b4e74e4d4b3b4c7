import NMEA
import TestSupport
import Testing

@testable import Hub

/// Fences of board files.
struct FenceSettingsTests {
  private func read(_ fences: String) throws -> [FenceSettings] {
    let text = "{ name: 'x', devices: { gps: { driver: 'nmea', port: 'p' } },\n fences: \(fences) }"
    return try Board(json5: Array(text.utf8), file: "board").fences
  }

  @Test func `a fence has a circle or a polygon, and its other settings are optional`() throws {
    let fences = try read(
      """
      { anchor: { circle: [54.4, 10.2, 40] },
        yard: { polygon: [[52.1, 13.1], [52.1, 13.101], [52.101, 13.1]], grace: 90, every: 3600, speed: 20, accuracy: 50 } }
      """)
    #expect(fences.map(\.name) == ["anchor", "yard"])
    #expect(fences[0].area.shape == .circle(.init(latitudeDegrees: 54.4, longitudeDegrees: 10.2), radiusMetres: 40))
    #expect(fences[0].grace == .seconds(20) && fences[0].every == .seconds(600))
    #expect(fences[0].speedMetresPerSecond == 0.5 && fences[0].accuracyMetres == 20)
    #expect(fences[1].grace == .seconds(90) && fences[1].every == .seconds(3600))
    #expect(fences[1].speedMetresPerSecond == 20 && fences[1].accuracyMetres == 50)
    // A small fence requires a more accurate fix.
    #expect(abs(try read("{ a: { circle: [54.4, 10.2, 8] } }")[0].accuracyMetres - 4) < 1e-9)
    #expect(try read("{}").isEmpty && read("null").isEmpty)
  }

  @Test(arguments: [
    ("{ anchor: {} }", "board:2: 'fences.anchor' must be an area: circle: [latitude, longitude, metres], or polygon:"),
    (
      "{ anchor: { circle: [1, 2, 3],\n polygon: [] } }",
      "board:2: 'fences.anchor' must be one area, and has a 'circle' and a 'polygon': name two fences"
    ),
    (
      "{ anchor:\n { circle: [54.4, 10.2] } }",
      "board:3: 'fences.anchor.circle' must be [latitude, longitude, metres]: three numbers from -85 to 85,"
    ),
    ("{ anchor: { circle: [100.2, 54.4, 40] } }", "'fences.anchor.circle' must be [latitude, longitude, metres]"),
    ("{ anchor: { circle: [54.4, 10.2, 0.5] } }", "-180 to 180 and 1 to 100000"),
    ("{ anchor: { circle: '54.4 10.2 40' } }", "'fences.anchor.circle' must be [latitude, longitude, metres]"),
    ("{ anchor: { polygon: [[1, 2], [3, 4]] } }", "'fences.anchor.polygon' must be a list of 3 to 256 corners"),
    ("{ anchor: { polygon: [[1, 2], [3], [1, 3]] } }", "must be a list of corners [latitude, longitude]"),
    ("{ anchor: { circle: [54.4, 10.2, 40], grace: 0 } }", "'fences.anchor.grace' must be a number from 1 to 3600"),
    ("{ anchor: { circle: [54.4, 10.2, 40],\n graze: 5 } }", "board:3: unknown key 'fences.anchor.graze'; did you"),
    ("{ 'my anchor': { circle: [54.4, 10.2, 40] } }", "must be named with at most 24 letters"),
    ("[]", "board:2: 'fences' must be an object"),
  ])
  func `an invalid fence is reported with its line, its key and the valid values`(_ fences: String, _ message: String) {
    let error = #expect(throws: BoardError.self) { try read(fences) }
    #expect(error?.description.contains(message) == true, "\(String(describing: error))")
  }
}
