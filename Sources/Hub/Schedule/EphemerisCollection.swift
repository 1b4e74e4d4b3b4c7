import MonotonicTime

/// Lets a receiver that is woken for a few seconds at a time occasionally collect its satellites' ephemerides.
///
/// A satellite sends its ephemeris, its future orbit, repeatedly, each time for some 18 of 30 seconds, and it is valid
/// for about four hours. A receiver that sleeps as soon as it has a fix never receives a complete one: its hot starts
/// become warm ones, of half a minute.
struct EphemerisCollection: Sendable {
  /// As long as any satellite takes to say it whole, wherever it is in it.
  static let time = Duration.seconds(36)
  /// The time between two collections: half of the validity.
  static let renewal = Duration.seconds(2 * 3600)
  /// A receiver that is woken no sooner than this starts without them anyway.
  static let validity = Duration.seconds(4 * 3600)

  /// A receiver with starts of this length receives them again in each, because it keeps none.
  static let startWithout = Duration.seconds(15)

  /// When they had been heard whole the last time. With its first fix a receiver has had some.
  private var collectedAt: MonotonicInstant?
  /// Since when it has had fixes, in this wake.
  private var trackingSince: MonotonicInstant?

  mutating func receiveFix(at now: MonotonicInstant) {
    if collectedAt == nil { collectedAt = now }
    if trackingSince == nil { trackingSince = now }
  }

  /// The machine was suspended.
  mutating func goBack(by slept: Duration) {
    collectedAt?.moveBack(by: slept)
    trackingSince = nil
  }

  /// The receiver is let go of.
  mutating func sleep(at now: MonotonicInstant) {
    if let trackingSince, now - trackingSince >= EphemerisCollection.time { collectedAt = now }
    trackingSince = nil
  }

  /// The end of its time on without a need for a fix; `nil` if it may sleep.
  ///
  /// - Parameters:
  ///   - nextWake: `nil` if there is no further fix
  ///   - hotStart: the time of a start after a short sleep, if it is known
  func end(at now: MonotonicInstant, nextWake: MonotonicInstant?, hotStart: Duration?) -> MonotonicInstant? {
    if let hotStart, hotStart >= EphemerisCollection.startWithout { return nil }
    guard let collectedAt, let trackingSince, let nextWake, now - collectedAt >= EphemerisCollection.renewal,
      nextWake - now < EphemerisCollection.validity, case let end = trackingSince + EphemerisCollection.time, end > now
    else { return nil }
    return end
  }
}
