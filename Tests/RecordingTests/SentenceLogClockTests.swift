import Testing

@testable import NMEA
@testable import Recording

/// The clock of a replayed log, by the times of its sentences.
struct SentenceLogClockTests {
  private static let date = CalendarDate(year: 2026, month: 9, day: 11)

  /// The seconds since the first midnight, for times of day without a date.
  private func seconds(_ times: [Int], in clock: inout SentenceLogClock) -> [Int64?] {
    times.map { time in
      clock.time(ofWhatStates: StatedTime(time: TimeOfDay(second: time), date: nil)).map { $0 / 1_000_000_000 }
    }
  }

  @Test func `a sentence of the second before midnight may come late`() {
    var clock = SentenceLogClock(date: Self.date)
    #expect(seconds([86_399, 86_399, 0, 86_399, 1], in: &clock) == [86_399, 86_399, 86_400, 86_400, 86_401])
  }

  @Test(arguments: [Self.date, nil]) func `a log whose times go round for ever has a last day`(_ date: CalendarDate?) {
    var clock = SentenceLogClock(date: date)
    var last: Int64? = 0
    for _ in 0..<120_000 { last = seconds([0, 40_000, 80_000], in: &clock).last ?? nil }
    #expect(last.map { $0 > 36_000 * 86_400 } == true)
    // The other way round it has a first day.
    for _ in 0..<240_000 { last = seconds([86_399, 50_000, 10_000, 0], in: &clock).last ?? nil }
    #expect(last.map { $0 < -36_000 * 86_400 } == true)
  }
}
