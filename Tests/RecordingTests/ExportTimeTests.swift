import NMEA
import Testing

@testable import Recording

/// Times in the notation of the command line.
struct ExportTimeTests {
  /// The time 2026-11-22T10:00:00Z.
  private let start = UTCTime(nanosecondsSince1970: MadeSegments.start)

  private func text(_ time: UTCTime?) -> String? { time.map(UTCText.make) }

  @Test(arguments: [
    ("2026-11-22T10:00:00Z", "2026-11-22T10:00:00.000Z"), ("2026-11-22T10:00Z", "2026-11-22T10:00:00.000Z"),
    ("2026-11-22T11:00:00+01:00", "2026-11-22T10:00:00.000Z"), ("2026-11-22T04:30-05:30", "2026-11-22T10:00:00.000Z"),
    ("2026-11-23T00:30:00.5+01:00", "2026-11-22T23:30:00.500Z"), ("10:30", "2026-11-22T10:30:00.000Z"),
  ])
  func `an instant with a time zone is that instant in any zone`(_ given: String, _ expected: String) {
    #expect(text(ExportTime(given)?.start(inRecordingFrom: start)) == expected)
    #expect(text(ExportTime(given)?.end(inRecordingFrom: start)) == expected)
  }

  @Test func `a date as the start is its midnight, and as the end includes the whole day`() {
    #expect(text(ExportTime("2026-11-30")?.start(inRecordingFrom: start)) == "2026-11-30T00:00:00.000Z")
    #expect(text(ExportTime("2026-11-30")?.end(inRecordingFrom: start)) == "2026-12-01T00:00:00.000Z")
  }

  @Test(arguments: [
    "yesterday", "", "2026-02-30", "2026-11", "2026-11-22T10:00:00", "2026-11-22T10:00:00+1:00",
    "2026-11-22T10:00:00+0100", "2026-11-22T10:00:00+24:00", "2026-11-22T10:00:00Z+01:00", "25:00", "10:00Z",
  ])
  func `any other text is not a time`(_ given: String) {
    #expect(ExportTime(given) == nil)
  }
}
