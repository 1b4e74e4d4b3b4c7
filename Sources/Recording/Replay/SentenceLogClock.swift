import NMEA

/// The clock for a log of sentences and messages, from the times that they contain.
public struct SentenceLogClock {
  private static let day: Int64 = 86_400_000_000_000
  private static let longestDisorder: Int64 = 10_000_000_000
  /// The longest log, days. Without this limit, the time of a log without dates could become too large for its type.
  private static let longestLog: Int64 = 36_525

  /// The midnight before the log, nanoseconds since 1970; 0 if no sentence contains a date.
  public let midnightNanosecondsSince1970: Int64
  private var days: Int64 = 0
  private var last: TimeOfDay?
  private var lastNanoseconds: Int64?

  /// - Parameter date: the first date in the log
  public init(date: CalendarDate?) {
    midnightNanosecondsSince1970 =
      date.map { UTCTime(date: $0, time: TimeOfDay(second: 0)).nanosecondsSince1970 } ?? 0
  }

  /// The time of a sentence or message, in nanoseconds since that midnight. If it has no time of its own, it gets the
  /// time of the previous one; `nil` before the first time in the log. The result goes back only if the stated time is
  /// more than ten seconds earlier, because then another recording begins in the log.
  public mutating func time(ofWhatStates stated: StatedTime?) -> Int64? {
    if let stated {
      let (time, date) = (stated.time, stated.date)
      if let last {
        // A sentence of the second before midnight may come late.
        if time.isNextDay(after: last) { days = min(days + 1, SentenceLogClock.longestLog) }
        if time.isPreviousDay(before: last) { days = max(days - 1, -SentenceLogClock.longestLog) }
      }
      if let date, midnightNanosecondsSince1970 != 0 {
        let midnight = UTCTime(date: date, time: TimeOfDay(second: 0)).nanosecondsSince1970
        days = (midnight - midnightNanosecondsSince1970) / SentenceLogClock.day
      }
      last = time
      let nanoseconds = days * SentenceLogClock.day + Int64(time.second) * 1_000_000_000 + Int64(time.nanosecond)
      let before = lastNanoseconds ?? nanoseconds
      // A small step back only means that the sentences of an epoch are in another order.
      let isRepeated = nanoseconds < before - SentenceLogClock.longestDisorder
      lastNanoseconds = isRepeated ? nanoseconds : max(nanoseconds, before)
    }
    return lastNanoseconds
  }
}
