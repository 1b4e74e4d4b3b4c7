import Glibc
import HardwareIO
import Hub
import MCAP
import MonotonicTime
import TestSupport
import Testing

@testable import Recording

/// The age of a segment, whatever happens to the clock.
struct SegmentAgeTests {
  private let folder = RecordingFolder()
  private let settings = RecordSettings(path: "", maximumAge: .seconds(8 * 3600))
  private let year = Duration.seconds(365 * 86_400)

  /// Sets the time of a file. The test writes files now, which must appear as the test clock's time.
  private func date(_ name: String, _ nanoseconds: Int64) {
    folder.store.setWritten(name, nanosecondsSince1970: nanoseconds)
  }

  /// Records one segment and ends it.
  private func record(_ text: String, _ rig: Rig) throws -> String {
    let before = Set(folder.names)
    rig.append(text)
    rig.writer.finish()
    return try #require(folder.names.first { !before.contains($0) })
  }

  @Test func `a clock that is corrected later makes no segment older, and one that is set back makes none younger`()
    throws
  {
    // The board starts with a clock that shows last year.
    let rig = Rig(folder.store, settings, ahead: .zero - year)
    rig.append("first")
    #expect(rig.turnWhenDue().isRest)
    let first = try #require(folder.names.first)
    rig.clock.advance(by: .seconds(3601))
    rig.append("second")
    #expect(rig.turnWhenDue().isRest)
    #expect(folder.names.count == 2)
    rig.system.set(forward: year)
    rig.append("third")
    #expect(rig.turnWhenDue().isRest)
    #expect(folder.names.contains(first))
    // The same is true for the next hub: the file's time is that of its writing by the present clock.
    let written = try #require(folder.store.segments.first { $0.name == first })
    let age = Rig.start + 3611 * 1_000_000_000 - written.writtenNanosecondsSince1970
    #expect((0...20 * 1_000_000_000).contains(age), "\(age)")
    // Time that really passes counts.
    rig.system.set(forward: .zero - year - year)
    for hour in 0..<9 {
      rig.clock.advance(by: .seconds(3600))
      rig.append("hour \(hour)")
      #expect(rig.turnWhenDue().isRest)
    }
    #expect(!folder.names.contains(first))
  }

  @Test func `the time for which the machine was suspended counts`() throws {
    let rig = Rig(folder.store, settings)
    func suspend(hours: Int) {
      rig.system.set(forward: .seconds(hours * 3600))
      rig.clock.suspend(for: .seconds(hours * 3600))
    }
    rig.append("first")
    #expect(rig.turnWhenDue().isRest)
    let first = try #require(folder.names.first)
    // A segment covers at most an eighth of the maximum age.
    suspend(hours: 2)
    rig.append("second")
    #expect(rig.turnWhenDue().isRest)
    #expect(folder.names.count == 2)
    suspend(hours: 9)
    rig.append("third")
    #expect(rig.turnWhenDue().isRest)
    #expect(!folder.names.contains(first))
  }

  @Test func `an old segment with a date in the future is deleted once the clock is right`() throws {
    let old = try record("old", Rig(folder.store))
    date(old, Rig.start - 9 * 3600 * 1_000_000_000)
    let rig = Rig(folder.store, settings, ahead: .zero - year)
    rig.append("new")
    #expect(rig.turnWhenDue().isRest)
    #expect(folder.names.contains(old))
    rig.system.set(forward: year)
    rig.append("newer")
    #expect(rig.turnWhenDue().isRest)
    #expect(!folder.names.contains(old))
  }

  @Test func `no segment is older than the one before it`() throws {
    let first = try record("first", Rig(folder.store))
    let second = try record("second", Rig(folder.store))
    date(first, Rig.start - 3600 * 1_000_000_000)
    // The file was written before the clock was set.
    date(second, 1_000_000_000)
    let rig = Rig(folder.store, settings)
    rig.append("third")
    #expect(rig.turnWhenDue().isRest)
    #expect(folder.names.count == 3)
  }
}
