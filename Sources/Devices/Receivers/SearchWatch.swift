import MonotonicTime
import NMEA

/// Detects a receiver that hears enough satellites and still has no position: its stored satellites, time or place are
/// wrong. A receiver that hears too few is under a roof, and is left alone.
struct SearchWatch: Sendable {
  /// For a position in space, and one to spare.
  private static let leastSatellites = 5
  /// From which their data can be read, dB-Hz.
  private static let leastStrength: UInt8 = 30
  /// A start that knows nothing takes half a minute.
  static let patience = Duration.seconds(120)
  /// The time for which a list of satellites is valid.
  private static let lifetime = Duration.seconds(10)

  private var hasFix = false
  /// The duration of its search when it was last read.
  private var before = Duration.zero
  private var hearsSince: MonotonicInstant?
  private var lastHeard: MonotonicInstant?

  mutating func take(_ observation: borrowing GNSSObservation) {
    if observation.fix.mode >= .twoDimensional { hasFix = true }
    let at = observation.at
    guard !hasFix, !observation.isFrozen else { return }
    if observation.sky.isEmpty {
      if let lastHeard, at - lastHeard > SearchWatch.lifetime { lose() }
      return
    }
    lastHeard = at
    let heard = Set(observation.sky.filter { $0.signalStrength >= SearchWatch.leastStrength }.map(\.number))
    if heard.count >= SearchWatch.leastSatellites { hearsSince = hearsSince ?? at } else { lose() }
  }

  /// It hears too few satellites, as every receiver does at first.
  private mutating func lose() {
    if hearsSince != nil { before = .zero }
    hearsSince = nil
  }

  /// Whether it has searched without success since it began.
  func isVain(at now: MonotonicInstant) -> Bool {
    guard !hasFix, let hearsSince, let lastHeard else { return false }
    return now - lastHeard <= SearchWatch.lifetime && before + (lastHeard - hearsSince) >= SearchWatch.patience
  }

  /// The knowledge that remains after a pause in reading: a visit may be too short to find out. Its reception must be
  /// established again.
  var resumed: SearchWatch {
    var next = SearchWatch()
    if hasFix { return next }
    if let lastHeard {
      next.before = hearsSince.map { before + (lastHeard - $0) } ?? .zero
    } else {
      next.before = before
    }
    return next
  }
}
