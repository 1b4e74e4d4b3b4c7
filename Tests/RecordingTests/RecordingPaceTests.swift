import Recording
import Testing

/// How long a recorder's budget lasts.
struct RecordingPaceTests {
  @Test func `a budget lasts as long as the measured rate lets it`() throws {
    // 14.6 kB a second.
    let pace = try #require(RecordingPace(bytes: 52_560_000, seconds: 3600))
    #expect(RecordingPace.text(seconds: pace.seconds(for: 1000)) == "about 19 hours")
    #expect(RecordingPace.text(seconds: pace.seconds(for: 50)) == "about 57 minutes")
    #expect(RecordingPace.text(seconds: pace.seconds(for: 8000)) == "about 6 days")
  }

  @Test func `a moment tells nothing`() {
    #expect(RecordingPace(bytes: 4000, seconds: 2) == nil)
    #expect(RecordingPace(bytes: 0, seconds: 200) == nil)
    #expect(RecordingPace(of: []) == nil)
  }
}
