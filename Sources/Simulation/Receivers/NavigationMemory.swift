import MonotonicTime

/// The kinds of starts of a receiver, by its knowledge of time, position and orbits.
public enum ReceiverStart: String, CaseIterable, Sendable {
  /// The receiver has neither time nor position nor orbits.
  case cold
  /// The receiver knows the approximate time and position and the almanac, but has no valid ephemerides. A start also
  /// counts as warm if the receiver has valid ephemerides and its position, but not the time.
  case warm
  /// The receiver has the time, its position, the almanac and valid ephemerides.
  case hot
  /// The receiver was off without backup supply, and its host has sent ephemerides, position and time.
  case aided
}

/// The data that makes a receiver's start faster. The data is in backup RAM, and lasts as long as the backup RAM has a
/// supply.
struct NavigationMemory: Equatable, Sendable {
  /// The time for which ephemerides are valid: four hours around their reference time.
  static let ephemerisLife = Duration.seconds(4 * 3600)

  /// The interval at which a satellite transmits its ephemeris.
  static let ephemerisTime = Duration.seconds(30)

  var hasTime = false
  var hasPosition = false
  var hasAlmanac = false
  /// When the ephemerides were received.
  var ephemeridesAt: MonotonicInstant?
  /// Whether time or position come from the host, or position and orbits from the backup in flash.
  var isAided = false

  func hasEphemerides(at now: MonotonicInstant) -> Bool {
    ephemeridesAt.map { now - $0 < NavigationMemory.ephemerisLife } ?? false
  }

  func start(at now: MonotonicInstant) -> ReceiverStart {
    guard hasPosition else { return .cold }
    if hasEphemerides(at: now) {
      guard hasTime else { return .warm }
      return isAided ? .aided : .hot
    }
    return hasTime && hasAlmanac ? .warm : .cold
  }

  /// Forgets everything that the requested kind of start does not keep.
  mutating func forget(for start: ReceiverStart) {
    switch start {
    case .hot, .aided: break
    case .warm: ephemeridesAt = nil
    case .cold: self = NavigationMemory()
    }
  }

  /// Records that a fix has provided time, position and almanac.
  mutating func gotFix(at now: MonotonicInstant) {
    (hasTime, hasPosition, hasAlmanac, isAided) = (true, true, true, false)
    if !hasEphemerides(at: now) { ephemeridesAt = now }
  }
}
