import MonotonicTime

/// Has a receiver that is woken for a few seconds at a time hear its satellites out now and then.
///
/// Where a satellite is to be, its ephemeris, is said over and over, each time for some 18 of 30 seconds, and is good for about four
/// hours. A receiver that sleeps as soon as it has a fix never hears a whole one: its hot starts become warm ones, of half a minute.
struct EphemerisCollection: Sendable {
  /// As long as any satellite takes to say it whole, wherever it is in it.
  static let time = Duration.seconds(36)
  /// So much later it is heard anew: half of what it is good for.
  static let renewal = Duration.seconds(2 * 3600)
  /// Who is woken no sooner than that starts without them anyway.
  static let validity = Duration.seconds(4 * 3600)

  /// Whose starts take so long hears them anew in each, as it keeps none.
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

  /// Until when it is to stay on, though nobody needs it for a fix; `nil` for no longer.
  ///
  /// - Parameters:
  ///   - nextWake: `nil` where nobody wants another fix
  ///   - hotStart: what a start takes after a short sleep, as far as that is known
  func end(at now: MonotonicInstant, nextWake: MonotonicInstant?, hotStart: Duration?) -> MonotonicInstant? {
    if let hotStart, hotStart >= EphemerisCollection.startWithout { return nil }
    guard let collectedAt, let trackingSince, let nextWake, now - collectedAt >= EphemerisCollection.renewal,
      nextWake - now < EphemerisCollection.validity, case let end = trackingSince + EphemerisCollection.time, end > now
    else { return nil }
    return end
  }
}
