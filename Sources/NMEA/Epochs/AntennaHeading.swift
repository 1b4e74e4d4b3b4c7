/// Where a receiver with two antennas, or a gyro compass on the same line, says that the bow points.
public struct AntennaHeading: Equatable, Sendable {
  /// From true north, 0 to 360.
  public var degrees: Double
  /// One standard deviation; `nil` if the receiver does not state it.
  public var sigmaDegrees: Double?
}

/// The newest heading until the epoch that it belongs to is reported.
///
/// It opens and closes no epoch: a heading may come before the position of its instant, after it, or more often.
struct AntennaHeadingMemory: Sendable {
  /// The longest time from a heading to the first message of its epoch, nanoseconds.
  private static let longestLead: Int64 = 100_000_000
  /// A heading with a larger sigma, degrees, is ignored.
  private static let mostUncertain = 20.0

  private var heading: (value: AntennaHeading, at: Int64)?

  /// Takes a heading. A value out of range is ignored.
  ///
  /// - Parameters:
  ///   - sigma: `nil` if the receiver does not state it
  ///   - instant: when it was read
  mutating func note(_ degrees: Double?, sigma: Double? = nil, at instant: Int64) {
    guard let degrees, StatedRange.courseDegrees.contains(degrees) else { return }
    if let sigma, !(sigma > 0 && sigma <= AntennaHeadingMemory.mostUncertain) { return }
    heading = (AntennaHeading(degrees: degrees, sigmaDegrees: sigma), instant)
  }

  /// That of an epoch, once.
  mutating func take(epochBeganAt: Int64) -> AntennaHeading? {
    defer { heading = nil }
    guard let heading, epochBeganAt - heading.at <= AntennaHeadingMemory.longestLead else { return nil }
    return heading.value
  }
}
