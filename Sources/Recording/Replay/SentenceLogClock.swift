import NMEA

/// The time of a log of sentences and messages by their statements.
public struct SentenceLogClock {
  private static let day: Int64 = 86_400_000_000_000
  private static let longestDisorder: Int64 = 10_000_000_000

  /// The midnight before the log, nanoseconds since 1970; 0 where no sentence tells the date.
  public let midnightNanosecondsSince1970: Int64
  private var days: Int64 = 0
  private var last: TimeOfDay?
  private var lastNanoseconds: Int64?

  /// - Parameter date: the first that the log tells
  public init(date: CalendarDate?) {
    midnightNanosecondsSince1970 =
      date.map { UTCTime(date: $0, time: TimeOfDay(second: 0)).nanosecondsSince1970 } ?? 0
  }

  /// When a sentence or message was said, nanoseconds since that midnight: by its own time, or with the one before. Goes back only where
  /// another drive follows; `nil` before the first that states a time.
  public mutating func time(ofWhatStates stated: StatedTime?) -> Int64? {
    if let stated {
      let (time, date) = (stated.time, stated.date)
      if let last, time.isNextDay(after: last) { days += 1 }
      if let date, midnightNanosecondsSince1970 != 0 {
        let midnight = UTCTime(date: date, time: TimeOfDay(second: 0)).nanosecondsSince1970
        days = (midnight - midnightNanosecondsSince1970) / SentenceLogClock.day
      }
      last = time
      let nanoseconds = days * SentenceLogClock.day + Int64(time.second) * 1_000_000_000 + Int64(time.nanosecond)
      let before = lastNanoseconds ?? nanoseconds
      // Sentences of an epoch that come in another order are no other drive.
      lastNanoseconds = before - nanoseconds > SentenceLogClock.longestDisorder ? nanoseconds : max(nanoseconds, before)
    }
    return lastNanoseconds
  }
}
