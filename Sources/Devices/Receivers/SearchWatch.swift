import MonotonicTime
import NMEA

/// Finds a receiver that hears satellites as well as it needs them and has no position all the same: what it remembers of them, of
/// the time or of its place is wrong. One that hears too few stands under a roof, and is left alone.
struct SearchWatch: Sendable {
  /// For a position in space, and one to spare.
  private static let leastSatellites = 5
  /// From which their data can be read, dB-Hz.
  private static let leastStrength: UInt8 = 30
  /// A start that knows nothing takes half a minute.
  static let patience = Duration.seconds(120)
  /// A list of satellites is good for so long.
  private static let lifetime = Duration.seconds(10)

  private var hasFix = false
  /// For so long it had searched when it was last read.
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

  /// It hears too few. In the beginning everybody does.
  private mutating func lose() {
    if hearsSince != nil { before = .zero }
    hearsSince = nil
  }

  /// Whether it has searched in vain since it began.
  func isVain(at now: MonotonicInstant) -> Bool {
    guard !hasFix, let hearsSince, let lastHeard else { return false }
    return now - lastHeard <= SearchWatch.lifetime && before + (lastHeard - hearsSince) >= SearchWatch.patience
  }

  /// What is known of it when it is read again after a pause: a visit may be too short for it to be found out. How it hears is to be
  /// seen anew.
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
