import MCAP
import NMEA
import Testing

@testable import Recording

/// Pages of a recording whose receiver wakes every 15 seconds for one fix. Each wake has three seconds of states
/// without a position, the fix, and the last state before sleep.
struct RequestedFixPagesTests {
  private let made = MadeSegments()

  /// Writes ten fixes and returns the numbers of their states.
  private func write() throws -> [Int] {
    var writer = try made.begin("sensorhub-20261122T100000Z-001.mcap", "2026-11-22T10:00:00Z")
    var number = 0
    var fixes: [Int] = []
    func append(_ second: Double, _ mode: String, fix: Int?) throws {
      let time = UTCText.make(MadeSegments.instant(second))
      let position = fix.map {
        #","position":{"lat":\#(47 + Double($0) * 1e-3),"lon":8,"age":\#(second - Double($0 * 15 + 3)),"source":"gps"}"#
      }
      let text =
        #"{"class":"STATE","mode":"\#(mode)","time":"\#(time)","timeConfirmed":true,"monotonic":\#(second + 100)"#
        + (position ?? "") + #","number":\#(number)}"#
      number += 1
      try writer.append(
        Array(text.utf8), channelID: 1,
        logTimeNanoseconds: UInt64(MadeSegments.instant(second).nanosecondsSince1970))
    }
    for wake in 0..<10 {
      let start = Double(wake * 15)
      for half in 0..<6 { try append(start + Double(half) / 2, "none", fix: nil) }
      fixes.append(number)
      try append(start + 3, "gnss", fix: wake)
      try append(start + 3.5, "asleep", fix: wake)
    }
    try writer.finish()
    return fixes
  }

  private func numbers(every: Double, limit: Int = 1000, lookingAt count: Int = .max) throws -> [Int] {
    var numbers: [Int] = []
    var cursor: RecordingCursor?
    var pageCount = 0
    repeat {
      var asked = 0
      let page = made.catalogue.states(
        in: MadeSegments.times(-1, 200), everySeconds: every, after: cursor, limit: limit
      ) {
        asked += 1
        return asked > count
      }
      numbers += MadeSegments.numbers(page.reports)
      cursor = try page.next.map { try #require(RecordingCursor($0.text)) }
      pageCount += 1
    } while cursor != nil && pageCount < 1000
    return numbers
  }

  @Test(arguments: [(0.0, 10), (1, 10), (2, 10), (5, 10), (10, 10), (15, 10), (60, 3)])
  func `one position is taken in each interval, even if states without a position come first`(
    _ every: Double, _ count: Int
  ) throws {
    let fixes = try write()
    var reading = TrackReading(made.catalogue, in: MadeSegments.times(-1, 200), everySeconds: every)
    #expect(reading.next(limit: 100).points.count == count)
    let taken = try numbers(every: every)
    #expect(taken.filter { fixes.contains($0) }.count == count)
    // An interval with a fix contributes nothing else.
    if every >= 15 { #expect(taken.count == count) }
  }

  @Test(arguments: [1, 2, 3]) func `pages contain the same positions, wherever they end`(_ limit: Int) throws {
    _ = try write()
    for every in [1.0, 7, 15, 60] {
      #expect(try numbers(every: every, limit: limit) == numbers(every: every), "every \(every) s")
    }
  }

  @Test(arguments: [0, 1, 5, 100]) func `a page that ends early loses no position`(_ count: Int) throws {
    let fixes = Set(try write())
    for every in [1.0, 7, 15, 60] {
      let taken = try numbers(every: every, lookingAt: count)
      #expect(try taken.filter(fixes.contains) == numbers(every: every).filter(fixes.contains), "every \(every) s")
    }
  }

  @Test func `without any position, one state is taken in each interval`() throws {
    var writer = try made.begin("sensorhub-20261122T100000Z-001.mcap", "2026-11-22T10:00:00Z")
    for half in 0..<120 {
      let text = #"{"class":"STATE","mode":"attitude","monotonic":\#(Double(half) / 2),"number":\#(half)}"#
      let logTime = UInt64(MadeSegments.instant(Double(half) / 2).nanosecondsSince1970)
      try writer.append(Array(text.utf8), channelID: 1, logTimeNanoseconds: logTime)
    }
    try writer.finish()
    for limit in [1, 4, 100] { #expect(try numbers(every: 10, limit: limit) == [0, 20, 40, 60, 80, 100]) }
  }
}
