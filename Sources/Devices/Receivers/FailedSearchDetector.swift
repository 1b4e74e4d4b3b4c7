import MonotonicTime
import NMEA

/// Detects a receiver that hears enough satellites and still has no position, because its satellite data, time or place
/// is wrong. A receiver that hears too few is under a roof, and is left alone.
struct FailedSearchDetector: Sendable {
  /// The number of satellites for a position in space, and one more.
  private static let leastSatellites = 5
  /// The strength from which a satellite's data can be read, dB-Hz.
  private static let leastStrength: UInt8 = 30
  /// The longest search. A start without any data takes half a minute.
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

  /// Ends the search, because too few satellites are heard, as at first with every receiver.
  private mutating func lose() {
    if hearsSince != nil { before = .zero }
    hearsSince = nil
  }

  /// Whether it has searched without success for long enough.
  func isVain(at now: MonotonicInstant) -> Bool {
    guard !hasFix, let hearsSince, let lastHeard else { return false }
    return now - lastHeard <= FailedSearchDetector.lifetime
      && before + (lastHeard - hearsSince) >= FailedSearchDetector.patience
  }

  /// The knowledge that remains after a pause in reading, because a visit may be too short to decide. The reception
  /// must be established again.
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
