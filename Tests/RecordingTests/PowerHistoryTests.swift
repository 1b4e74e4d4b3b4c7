import Glibc
import NMEA
import Testing

@testable import Recording

/// The power of devices over time.
struct PowerHistoryTests {
  private let made: MadeSegments

  init() throws {
    made = MadeSegments()
    _ = try made.write(
      "100000Z-001", seconds: 0..<400,
      power: [
        .init(at: 0, power: "off"), .init(at: 10, power: "settling"), .init(at: 11, power: "tracking"),
        // Another client holds the device.
        .init(at: 20, power: "tracking"), .init(at: 200, power: "off"), .init(at: 300, power: "tracking"),
      ])
    _ = try made.write(
      "110000Z-001", seconds: 3600..<3800, started: "2026-11-22T11:00:00Z",
      power: [.init(at: 3600, power: "off"), .init(at: 3700, power: "tracking"), .init(at: 3750, power: "off")])
  }

  private func text(_ page: PowerPage) -> String {
    page.changes.map { change in
      let seconds = (change.time.nanosecondsSince1970 - MadeSegments.start) / 1_000_000_000
      return "\(change.power)@\(seconds)"
    }.joined(separator: " ")
  }

  private func power(_ from: Double, _ to: Double) -> PowerPage {
    made.catalogue.power(of: ["gps"], in: MadeSegments.times(from, to), limit: 1000)
  }

  @Test func `each change of power is listed once, and the power between recordings is unknown`() {
    #expect(
      text(power(-100, 5000))
        == "off@0 settling@10 tracking@11 off@200 tracking@300 unknown@399 off@3600 tracking@3700 off@3750")
    #expect(power(0, 100).changes.last?.holders == ["web"])
  }

  @Test func `the first entry is the power at the start of the requested time`() {
    #expect(text(power(100, 350)) == "tracking@20 off@200 tracking@300")
    #expect(text(power(250, 260)) == "off@200")
    // The time between two recordings is unknown.
    #expect(text(power(1000, 3650)) == "off@3600")
    #expect(text(power(1000, 2000)) == "")
  }

  @Test func `pages of the power history join without overlap or gap`() {
    var from = MadeSegments.instant(-100)
    var seen: [PowerChange] = []
    for _ in 0..<20 {
      let page = made.catalogue.power(of: ["gps"], in: from..<MadeSegments.instant(5000), limit: 2)
      seen += page.changes.filter { $0.time >= from }
      guard let next = page.next else { break }
      #expect(next > from)
      from = next
    }
    #expect(seen == power(-100, 5000).changes)
  }

  @Test(arguments: [(0.0, 2), (7, 1), (30, 1)])
  func `a track is interrupted where nothing was recorded, but not where points are left out`(
    _ every: Double, _ interruptions: Int
  ) throws {
    let made = MadeSegments()
    _ = try made.write("100000Z-001", seconds: 0..<100, power: [.init(at: 99.75, power: "off")])
    _ = try made.write("100145Z-002", seconds: 105..<200)
    _ = try made.write("100500Z-003", seconds: 300..<400)
    var reading = TrackReading(made.catalogue, in: MadeSegments.times(0, 5000), everySeconds: every)
    var points: [TrackReading.Point] = []
    while true {
      let piece = reading.next(limit: 13)
      points += piece.points
      if piece.isLast { break }
    }
    #expect(points.first?.beginsSegment == true)
    #expect(points.count { $0.beginsSegment } == interruptions + 1, "\(points.count) points")
  }
}
