/// The heading of the bow from a receiver with two antennas, or from a gyro compass on the same line.
public struct AntennaHeading: Equatable, Sendable {
  /// The heading from true north, 0 to 360.
  public var degrees: Double
  /// The standard deviation; `nil` if the receiver does not state it.
  public var sigmaDegrees: Double?
}

/// Stores the newest heading until the epoch that it belongs to is reported.
///
/// A heading neither opens nor closes an epoch. It may come before or after the position of its instant, and headings
/// may come more often than positions.
struct AntennaHeadingMemory: Sendable {
  /// The longest time from a heading to the first message of its epoch, nanoseconds.
  private static let longestLead: Int64 = 100_000_000
  /// The largest accepted sigma, degrees.
  private static let mostUncertain = 20.0

  private var heading: (value: AntennaHeading, at: Int64)?

  /// Stores a heading, unless it or its sigma is out of range.
  ///
  /// - Parameters:
  ///   - sigma: the sigma; `nil` if the receiver does not state it
  ///   - instant: when the heading was read
  mutating func note(_ degrees: Double?, sigma: Double? = nil, at instant: Int64) {
    guard let degrees, StatedRange.courseDegrees.contains(degrees) else { return }
    if let sigma, !(sigma > 0 && sigma <= AntennaHeadingMemory.mostUncertain) { return }
    heading = (AntennaHeading(degrees: degrees, sigmaDegrees: sigma), instant)
  }

  /// Returns the heading of an epoch, or `nil` if there is none or it is too old. In both cases, no heading remains.
  mutating func take(epochBeganAt: Int64) -> AntennaHeading? {
    defer { heading = nil }
    guard let heading, epochBeganAt - heading.at <= AntennaHeadingMemory.longestLead else { return nil }
    return heading.value
  }
}
