import Glibc
import Hub
import MCAP
import TestSupport
import Testing

@testable import Recording

/// A wrong clock must have no important effect on a recording.
struct SegmentNameTests {
  @Test(
    arguments: [
      (nil, "sensorhub-20261122T211439Z-001.mcap"),
      ("sensorhub-20261121T000000Z-007.mcap", "sensorhub-20261122T211439Z-001.mcap"),
      // The clock is before the existing files.
      ("sensorhub-20261128T000000Z-007.mcap", "sensorhub-20261128T000000Z-008.mcap"),
      ("sensorhub-20261128T000000Z-999.mcap", "sensorhub-20261128T000000Z-9990.mcap"),
      ("sensorhub-20261128T000000Z-9990.mcap", "sensorhub-20261128T000000Z-9991.mcap"),
      ("sensorhub-20261122T211439Z-001.mcap", "sensorhub-20261122T211439Z-002.mcap"),
    ] as [(String?, String)])
  func `the newest segment is the last in the order of the names`(_ newest: String?, _ expected: String) {
    let name = SegmentName.make(nanosecondsSince1970: 1_795_382_079_000_000_000, number: 1, after: newest)
    #expect(name == expected && SegmentName.isOne(name))
    #expect(newest.map { $0 < name } ?? true)
  }

  @Test func `a planted name with a huge number neither ends the hub nor hides its segments`() {
    let nines = String(repeating: "9", count: 18)
    let name = SegmentName.make(
      nanosecondsSince1970: 1_795_382_079_000_000_000, number: 1, after: "sensorhub-99991231T235959Z-\(nines).mcap")
    #expect(SegmentName.isOne(name))
    #expect(!SegmentName.isOne("sensorhub-99991231T235959Z-\(Int.max).mcap"))
  }

  @Test
  func `a board whose clock is behind keeps its recordings, and repairs an incomplete segment dated in the future`()
    throws
  {
    let folder = RecordingFolder()
    // The clock was a week early: an incomplete file, and a complete one after it. A killed hub has released them.
    do {
      let first = Rig(folder.store)
      first.append("cut")
      _ = first.turnWhenDue()
    }
    let ahead = ["sensorhub-20300101T000000Z-001.mcap", "sensorhub-20300101T000000Z-002.mcap"]
    let cut = try #require(folder.names.first)
    #expect(rename("\(folder.path)/\(cut)", "\(folder.path)/\(ahead[0])") == 0)
    let second = Rig(folder.store)
    second.append("whole")
    second.writer.finish()
    #expect(folder.names == ahead)
    #expect(try folder.texts("/raw") == ["cut", "whole"])
    // The end of a file after a crash is repaired, wherever the file is in the order.
    #expect(truncate("\(folder.path)/\(ahead[0])", 300) == 0)
    let third = Rig(folder.store)
    third.append("third")
    third.writer.finish()
    #expect(folder.names.count == 3 && folder.names.last.map { $0 > ahead[1] } ?? false)
    for name in folder.names { #expect(try MCAPReader(path: "\(folder.path)/\(name)").damage == nil, "\(name)") }
    #expect(try folder.texts("/raw").suffix(2) == ["whole", "third"])
  }

  @Test func `a recorder that shares a folder leaves the segments of another recorder alone`() throws {
    let folder = RecordingFolder()
    let first = Rig(folder.store)
    first.append("one")
    _ = first.turnWhenDue()
    let second = Rig(folder.store)
    second.append("two")
    second.writer.finish()
    #expect(!second.events.values.contains { if case .repaired = $0 { true } else { false } })
    first.append("three")
    first.writer.finish()
    #expect(folder.names.count == 2)
    #expect(try folder.texts("/raw").sorted() == ["one", "three", "two"])
  }

  @Test func `a segment dated beyond the range of nanoseconds causes no failure`() throws {
    let folder = RecordingFolder()
    let first = Rig(folder.store)
    first.append("first")
    first.writer.finish()
    let name = try #require(folder.names.first)
    for year in ["2400-01-01", "1900-01-01"] {
      _ = Program(["-d", year, "\(folder.path)/\(name)"], path: "/usr/bin/touch").wait()
      let next = Rig(folder.store, .init(path: "", maximumAge: .seconds(3600)))
      next.append("next")
      next.writer.finish()
      // A file from the future is not old yet, and one from before 1970 is.
      #expect(folder.names.contains(name) == (year == "2400-01-01"), "\(folder.names)")
    }
  }
}
