import MonotonicTime
import NMEA

/// Detects a receiver that hears enough satellites and still has no position, because its satellite data, time or place
/// is wrong. A receiver that hears too few satellites is probably under a roof, and does not count.
struct FailedSearchDetector: Sendable {
  /// One satellite more than a position in space needs.
  private static let leastSatellites = 5
  /// The strength from which a satellite's data can be read, dB-Hz.
  private static let leastStrength: UInt8 = 30
  /// A search that takes longer has failed. A start without any data takes half a minute.
  static let patience = Duration.seconds(120)
  /// The lifetime of a list of satellites.
  private static let lifetime = Duration.seconds(10)

  private var hasFix = false
  /// The duration of the search before the last pause.
  private var before = Duration.zero
  private var hearsSince: MonotonicInstant?
  private var lastHeard: MonotonicInstant?

  mutating func take(_ observation: borrowing GNSSObservation) {
    if observation.fix.mode >= .twoDimensional { hasFix = true }
    let at = observation.at
    guard !hasFix, !observation.isFrozen else { return }
    if observation.sky.isEmpty {
      if let lastHeard, at - lastHeard > FailedSearchDetector.lifetime { lose() }
      return
    }
    lastHeard = at
    let heard = Set(observation.sky.filter { $0.signalStrength >= FailedSearchDetector.leastStrength }.map(\.number))
    if heard.count >= FailedSearchDetector.leastSatellites { hearsSince = hearsSince ?? at } else { lose() }
  }

  /// Ends the search, because the receiver hears too few satellites, as every receiver does at first.
  private mutating func lose() {
    if hearsSince != nil { before = .zero }
    hearsSince = nil
  }

  /// Whether the receiver has searched for at least `patience` without success.
  func isVain(at now: MonotonicInstant) -> Bool {
    guard !hasFix, let hearsSince, let lastHeard else { return false }
    return now - lastHeard <= FailedSearchDetector.lifetime
      && before + (lastHeard - hearsSince) >= FailedSearchDetector.patience
  }

  /// The detector after a pause in reading, because one run may be too short to decide. The duration of the search
  /// remains; the receiver must show again that it hears satellites.
  var resumed: FailedSearchDetector {
    var next = FailedSearchDetector()
    if hasFix { return next }
    if let lastHeard {
      next.before = hearsSince.map { before + (lastHeard - $0) } ?? .zero
    } else {
      next.before = before
    }
    return next
  }
}
