import MonotonicTime

/// Pauses the search for a position while there is no reception, for a client that would otherwise search without end.
///
/// The first search is long enough for a receiver that has no stored data about the satellites, and so is every eighth
/// one after it. The others are short. A pause lasts a third of the time since the search began, or since the board last
/// moved, within limits. So a board that has reception again waits at most that long, and the receiver is on for an ever
/// smaller share of the time.
///
/// This value has no clock. Only a search without any fix counts, because an inaccurate fix is still a position.
struct SearchPause: Equatable, Sendable {
  /// A receiver without stored data needs up to 13 minutes.
  static let longSearch = Duration.seconds(15 * 60)
  /// A receiver with stored data needs less than a minute, also after hours of sleep.
  static let shortSearch = Duration.seconds(2 * 60)
  static let searchesPerLongOne = 8
  static let shortest = Duration.seconds(5 * 60)
  static let longest = Duration.seconds(60 * 60)

  /// When the first search without a fix began; `nil` if there was none since the last fix.
  private(set) var since: MonotonicInstant?
  /// The instant from which the pauses grow.
  private var growsFrom: MonotonicInstant?
  /// The duration of the present search until now, which may consist of several wakes.
  private var searched = Duration.zero
  /// The number of searches without a fix.
  private var count = 0
  /// When the present pause began; `nil` if there is none.
  private var beganAt: MonotonicInstant?
  /// The end of the present pause; `nil` if there is none.
  private(set) var until: MonotonicInstant?

  private var limit: Duration {
    count % SearchPause.searchesPerLongOne == 0 ? SearchPause.longSearch : SearchPause.shortSearch
  }

  /// The time that the present search may still take; at least a second.
  var remaining: Duration { max(limit - searched, .seconds(1)) }

  /// Takes a wake that has ended without a fix. This begins a pause if the search has been long enough.
  mutating func fail(since wake: MonotonicInstant, at now: MonotonicInstant) {
    since = since ?? wake
    let from = growsFrom ?? wake
    growsFrom = from
    searched += now - wake
    guard searched >= limit else { return }
    (searched, count, beganAt) = (.zero, count + 1, now)
    until = now + min(max(SearchPause.shortest, (now - from) / 3), SearchPause.longest)
  }

  /// Ends the pause, because the next search begins.
  mutating func end() { (until, beganAt) = (nil, nil) }

  /// Whether a fix ends the pause. A fix from before the pause says nothing about the reception now.
  func isEnded(by fix: MonotonicInstant) -> Bool { beganAt.map { fix > $0 } ?? false }

  /// Shortens the pauses after the board has moved, because it may have left the place without reception. A board that
  /// is moved again and again still pauses.
  mutating func move(at now: MonotonicInstant) {
    guard since != nil else { return }
    growsFrom = now
    if let beganAt, let end = until { until = min(end, max(now, beganAt + SearchPause.shortest)) }
  }

  /// Makes the times of a pause earlier by the duration of a suspension. The time without a search does not lengthen
  /// later pauses, because the machine may be elsewhere now.
  mutating func resume(after slept: Duration, at now: MonotonicInstant) {
    guard since != nil else { return }
    growsFrom = now
    since?.moveBack(by: slept)
    beganAt?.moveBack(by: slept)
    until?.moveBack(by: slept)
  }
}
