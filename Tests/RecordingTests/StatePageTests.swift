import Glibc
import MCAP
import NMEA
import Testing

@testable import Recording

/// The states of a recording in pages.
struct StatePageTests {
  private let made = MadeSegments()

  private func threeSegments() throws -> [String] {
    [
      try made.write("100000Z-001", seconds: 0..<300), try made.write("100500Z-002", seconds: 300..<600),
      try made.write("110000Z-001", seconds: 3600..<3700, started: "2026-11-22T11:00:00Z"),
    ]
  }

  /// Returns the numbers of all states, and the number of pages.
  private func read(
    every: Double, limit: Int, lookingAt count: Int = .max, _ catalogue: SegmentCatalogue? = nil
  ) throws -> (numbers: [Int], pageCount: Int) {
    let catalogue = catalogue ?? made.catalogue
    var numbers: [Int] = []
    var pageCount = 0
    var cursor: RecordingCursor?
    repeat {
      var asked = 0
      let page = catalogue.states(in: MadeSegments.times(0, 4000), everySeconds: every, after: cursor, limit: limit) {
        asked += 1
        return asked > count
      }
      numbers += MadeSegments.numbers(page.reports)
      pageCount += 1
      // The place goes to a client and comes back as text.
      cursor = try page.next.map { try #require(RecordingCursor($0.text)) }
    } while cursor != nil && pageCount < 5000
    return (numbers, pageCount)
  }

  @Test(arguments: [1, 7, 999, 1000, 1400])
  func `pages join exactly, and every state is on exactly one page`(_ limit: Int) throws {
    _ = try threeSegments()
    let (numbers, pageCount) = try read(every: 0, limit: limit)
    #expect(numbers == Array(0..<1400))
    #expect(pageCount == (1400 + limit - 1) / limit)
  }

  @Test(arguments: [1, 3, 10, 30, 31])
  func `the interval between states is kept from page to page`(_ limit: Int) throws {
    _ = try threeSegments()
    let whole = try read(every: 10, limit: 10_000).numbers
    #expect(whole == (0..<60).map { $0 * 20 } + (0..<10).map { 1200 + $0 * 20 })
    #expect(try read(every: 10, limit: limit).numbers == whole)
    let odd = try read(every: 7, limit: 10_000).numbers
    #expect(try read(every: 7, limit: limit).numbers == odd)
  }

  @Test(arguments: [0, 1, 5, 100])
  func `a page that had to end early is continued after the last state it looked at`(_ count: Int) throws {
    _ = try threeSegments()
    #expect(try read(every: 7, limit: 1000, lookingAt: count).numbers == read(every: 7, limit: 10_000).numbers)
  }

  @Test func `a time without data has one empty page`() throws {
    _ = try threeSegments()
    for times in [MadeSegments.times(1000, 3000), MadeSegments.times(9000, 9999), MadeSegments.times(-100, 0)] {
      let page = made.catalogue.states(in: times, everySeconds: 0, limit: 10)
      #expect(page.reports.isEmpty && page.next == nil)
    }
  }

  @Test func `a folder that does not exist has no states`() {
    let page = SegmentCatalogue(path: "/nowhere").states(in: MadeSegments.times(0, 100), everySeconds: 0, limit: 10)
    #expect(page.reports.isEmpty && page.next == nil)
  }

  @Test func `segments that are deleted during a query leave the other segments readable`() throws {
    let names = try threeSegments()
    let catalogue = made.catalogue
    let first = catalogue.states(in: MadeSegments.times(0, 4000), everySeconds: 0, limit: 700)
    unlink("\(made.folder.path)/\(names[0])")
    let second = catalogue.states(
      in: MadeSegments.times(0, 4000), everySeconds: 0, after: first.next, limit: 100)
    #expect(MadeSegments.numbers(first.reports + second.reports) == Array(0..<800))
    // The file in which the last page ended is removed too.
    unlink("\(made.folder.path)/\(names[1])")
    let third = catalogue.states(
      in: MadeSegments.times(0, 4000), everySeconds: 0, after: second.next, limit: 1000)
    #expect(MadeSegments.numbers(third.reports) == Array(1200..<1400))
    #expect(third.next == nil)
  }

  @Test func `overlapping segments of two hubs are read one after the other`() throws {
    _ = try made.write("100000Z-001", seconds: 0..<60)
    _ = try made.write("100030Z-001", seconds: 30..<90, started: "2026-11-22T10:00:30Z")
    for limit in [1, 50, 1000] {
      #expect(try read(every: 0, limit: limit).numbers == Array(0..<240))
    }
    let every = try read(every: 10, limit: 1000).numbers
    #expect(every == (0..<6).map { $0 * 20 } + (0..<6).map { 120 + $0 * 20 })
    #expect(try read(every: 10, limit: 4).numbers == every)
  }

  @Test func `every state has a UTC time, by the receiver or by the recorded clock offset`() throws {
    _ = try made.write("090000Z-001", seconds: 0..<10, clockErrorSeconds: 3600)
    _ = try made.write("090010Z-002", seconds: 10..<20, clockErrorSeconds: 3600, isDated: false)
    let page = made.catalogue.states(in: MadeSegments.times(0, 60), everySeconds: 1, limit: 100)
    let times = page.reports.map { report in
      String(decoding: report, as: UTF8.self).split(separator: #""time":""#).last.map { String($0.prefix(24)) }
    }
    #expect(times == (0..<20).map { UTCText.make(MadeSegments.instant(Double($0))) })
    #expect(page.reports.allSatisfy { RecordedState($0[...])?.time != nil })
    // By the board's clock there was something an hour earlier.
    let before = made.catalogue.states(in: MadeSegments.times(-3600, -3000), everySeconds: 0, limit: 100)
    #expect(before.reports.isEmpty)
  }

  @Test func `a growing segment is read up to its last complete data`() throws {
    let name = "sensorhub-20261122T100000Z-001.mcap"
    var writer = try made.begin(name, "2026-11-22T10:00:00Z")
    let catalogue = made.catalogue
    for round in 1...5 {
      for half in (round - 1) * 40..<round * 40 {
        let second = Double(half) / 2
        let time = UInt64(MadeSegments.instant(second).nanosecondsSince1970)
        try writer.append(made.state(second), channelID: 1, logTimeNanoseconds: time)
      }
      try writer.flush()
      #expect(try read(every: 0, limit: 30, catalogue).numbers == Array(0..<round * 40))
      #expect(catalogue.segments.last?.file?.scan != nil)
      // A copy made at any time is a complete file.
      let content = try #require(try catalogue.content(of: name))
      var bytes: [UInt8] = []
      while UInt64(bytes.count) < content.byteCount { bytes += try content.bytes(at: UInt64(bytes.count), limit: 3000) }
      let reader = try MCAPReader(MCAPBytes(bytes))
      try reader.check()
      #expect(reader.isIndexed && reader.summary.statistics?.messageCount == UInt64(round * 40))
    }
    try writer.finish()
    #expect(try read(every: 0, limit: 30, catalogue).numbers == Array(0..<200))
    #expect(catalogue.segments.last?.file?.scan == nil)
  }

  @Test(arguments: [
    "", "x", "..", "../secret", "/etc/passwd", "sensorhub-20261122T100000Z-001.mcap/",
    "a/sensorhub-20261122T100000Z-001.mcap", "sensorhub-20261122T100000Z-001.mcap\0",
    "sensorhub-20261122T100000Z-999.mcap",
  ])
  func `no file other than a segment is served`(_ name: String) throws {
    _ = try made.write("100000Z-001", seconds: 0..<10)
    #expect(try made.catalogue.content(of: name) == nil)
  }

  @Test(arguments: ["", "~~~", "x~1~2~3", "sensorhub-20261122T100000Z-001.mcap~1~2", "../x~1~2~3"])
  func `an invalid cursor is refused`(_ text: String) { #expect(RecordingCursor(text) == nil) }
}
