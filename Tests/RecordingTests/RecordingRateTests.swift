import Recording
import Testing

/// How long a recorder's budget lasts.
struct RecordingRateTests {
  @Test func `the time that a budget lasts follows from the measured rate`() throws {
    // The rate is 14.6 kB a second.
    let rate = try #require(RecordingRate(bytes: 52_560_000, seconds: 3600))
    #expect(RecordingRate.text(seconds: rate.seconds(for: 1000)) == "about 19 hours")
    #expect(RecordingRate.text(seconds: rate.seconds(for: 50)) == "about 57 minutes")
    #expect(RecordingRate.text(seconds: rate.seconds(for: 8000)) == "about 6 days")
  }

  @Test func `a recording of a few seconds, or without data, gives no rate`() {
    #expect(RecordingRate(bytes: 4000, seconds: 2) == nil)
    #expect(RecordingRate(bytes: 0, seconds: 200) == nil)
    #expect(RecordingRate(of: []) == nil)
  }
}
