import MonotonicTime
import NMEA

/// Detects a receiver that receives enough satellites and still has no position, because its satellite data, time or
/// position is wrong. A receiver that receives too few satellites is probably under a roof, and is not reported.
struct FailedSearchDetector: Sendable {
  /// One satellite more than a position in space needs.
  private static let leastSatellites = 5
  /// The strength from which a satellite's data can be read, dB-Hz.
  private static let leastStrength: UInt8 = 30
  /// A search that takes longer has failed. A start without any data takes half a minute.
  static let patience = Duration.seconds(120)
  /// The time for which a list of satellites is valid.
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

  /// Ends the search, because too few satellites are received. The time before the last pause remains if no search has
  /// begun since, because every receiver receives too few satellites at first.
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

  /// The detector after a pause in reading, because one run may be too short to decide. It keeps the duration of the
  /// search, but the receiver must show again that it receives satellites.
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
