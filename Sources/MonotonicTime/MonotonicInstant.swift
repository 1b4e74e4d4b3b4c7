/// A point in time on Linux's CLOCK_MONOTONIC, the one clock of all samples and power events.
///
/// The kernel's timestamps of GPIO edges and of IIO scans are on the same clock, so a sample can carry the instant that
/// the hardware recorded.
public struct MonotonicInstant: InstantProtocol, Sendable {
  /// Nanoseconds since an arbitrary start, usually the boot of the machine.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Adds a duration. A sum outside the ±292 years that fit becomes the first or the last instant, so a wait without a
  /// limit is not an error.
  public func advanced(by duration: Duration) -> MonotonicInstant {
    let (sum, overflows) = nanoseconds.addingReportingOverflow(duration.inNanoseconds)
    return MonotonicInstant(nanoseconds: overflows ? (duration < .zero ? .min : .max) : sum)
  }

  public func duration(to other: MonotonicInstant) -> Duration {
    let (difference, overflows) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
    return overflows ? .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds) : .nanoseconds(difference)
  }

  /// Moves the instant back by the duration of a suspension, which the monotonic clock does not count. Ages that count
  /// from the instant then include the suspension.
  public mutating func moveBack(by slept: Duration) { self = advanced(by: .zero - slept) }

  /// The seconds since another instant. Faster than computing a `Duration`, which counts attoseconds in 128 bits.
  public func seconds(since other: MonotonicInstant) -> Double {
    let (difference, overflows) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
    return (overflows ? Double(nanoseconds) - Double(other.nanoseconds) : Double(difference)) / 1e9
  }

  public static func < (lhs: MonotonicInstant, rhs: MonotonicInstant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

  public static func - (lhs: MonotonicInstant, rhs: MonotonicInstant) -> Duration { rhs.duration(to: lhs) }

  public static func + (lhs: MonotonicInstant, rhs: Duration) -> MonotonicInstant { lhs.advanced(by: rhs) }
}

extension Duration {
  /// The duration in whole nanoseconds, limited to the ±292 years that fit.
  public var inNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

  public var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
