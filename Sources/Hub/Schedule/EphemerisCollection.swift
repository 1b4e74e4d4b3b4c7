import MonotonicTime

/// Occasionally keeps a receiver on that otherwise wakes for only a few seconds at a time, so that it can collect its
/// satellites' ephemerides.
///
/// A satellite repeats its ephemeris, its future orbit, every 30 seconds. Sending it takes about 18 seconds, and it is
/// valid for about four hours. A receiver that sleeps as soon as it has a fix never receives a complete ephemeris. Its
/// hot starts therefore become warm starts, which take half a minute.
struct EphemerisCollection: Sendable {
  /// The time that a complete reception takes, whenever it begins.
  static let time = Duration.seconds(36)
  /// The time between two collections: half of the validity.
  static let renewal = Duration.seconds(2 * 3600)
  /// The validity of ephemerides. After a longer sleep, a receiver starts without ephemerides in any case.
  static let validity = Duration.seconds(4 * 3600)

  /// A receiver whose starts take this long receives the ephemerides in each start, because it keeps none.
  static let startWithout = Duration.seconds(15)

  /// When the receiver last had complete ephemerides. The first fix counts too, because it needs ephemerides.
  private var collectedAt: MonotonicInstant?
  /// The time since which the receiver has had fixes in this wake.
  private var trackingSince: MonotonicInstant?

  mutating func receiveFix(at now: MonotonicInstant) {
    if collectedAt == nil { collectedAt = now }
    if trackingSince == nil { trackingSince = now }
  }

  /// Makes the time of the last collection earlier by the duration of a suspension, and ends the reception in progress.
  mutating func goBack(by slept: Duration) {
    collectedAt?.moveBack(by: slept)
    trackingSince = nil
  }

  /// Records that the receiver is released.
  mutating func sleep(at now: MonotonicInstant) {
    if let trackingSince, now - trackingSince >= EphemerisCollection.time { collectedAt = now }
    trackingSince = nil
  }

  /// The time until which the receiver stays on although no fix is needed; `nil` if it may sleep.
  ///
  /// - Parameters:
  ///   - nextWake: the next scheduled wake; `nil` if there is no further fix
  ///   - hotStart: the time of a start after a short sleep, if it is known
  func end(at now: MonotonicInstant, nextWake: MonotonicInstant?, hotStart: Duration?) -> MonotonicInstant? {
    if let hotStart, hotStart >= EphemerisCollection.startWithout { return nil }
    guard let collectedAt, let trackingSince, let nextWake, now - collectedAt >= EphemerisCollection.renewal,
      nextWake - now < EphemerisCollection.validity, case let end = trackingSince + EphemerisCollection.time, end > now
    else { return nil }
    return end
  }
}
