import MonotonicTime

/// How a receiver begins to look for satellites, by what it knows of time, place and orbits.
public enum ReceiverStart: String, CaseIterable, Sendable {
  /// Knows nothing.
  case cold
  /// Knows roughly when and where it is and the almanac, and has no ephemerides.
  case warm
  /// Has everything.
  case hot
  /// Was off without a backup supply, and has been told ephemerides, place and time by its host.
  case aided
}

/// What a receiver knows that helps it to start; in backup RAM, so it lasts as long as that is supplied.
struct NavigationMemory: Equatable, Sendable {
  /// Ephemerides are good for four hours about their time of reference.
  static let ephemerisLife = Duration.seconds(4 * 3600)

  /// From one to the next that a satellite says.
  static let ephemerisTime = Duration.seconds(30)

  var hasTime = false
  var hasPosition = false
  var hasAlmanac = false
  /// When the ephemerides were received.
  var ephemeridesAt: MonotonicInstant?
  /// Whether time or place are the host's word.
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

  /// What is left for a start of a kind that was asked for.
  mutating func forget(for start: ReceiverStart) {
    switch start {
    case .hot, .aided: break
    case .warm: ephemeridesAt = nil
    case .cold: self = NavigationMemory()
    }
  }

  /// After a fix it knows everything.
  mutating func gotFix(at now: MonotonicInstant) {
    (hasTime, hasPosition, hasAlmanac, isAided) = (true, true, true, false)
    if !hasEphemerides(at: now) { ephemeridesAt = now }
  }
}
