/// A point on Linux' CLOCK_MONOTONIC, the one clock of all samples and power events.
///
/// Kernel stamps (GPIO edges, PPS) are on the same clock, so a sample can carry the instant that the hardware gave it.
public struct MonotonicInstant: InstantProtocol, Sendable {
  /// Nanoseconds since an arbitrary start, usually the machine's boot.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// What lies beyond the clock's 292 years is its end: a wait for ever is no mistake.
  public func advanced(by duration: Duration) -> MonotonicInstant {
    let (sum, overflows) = nanoseconds.addingReportingOverflow(duration.inNanoseconds)
    return MonotonicInstant(nanoseconds: overflows ? (duration < .zero ? .min : .max) : sum)
  }

  public func duration(to other: MonotonicInstant) -> Duration {
    let (difference, overflows) = other.nanoseconds.subtractingReportingOverflow(nanoseconds)
    return overflows ? .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds) : .nanoseconds(difference)
  }

  /// Since another instant. Quicker than a `Duration`, which counts attoseconds in 128 bits.
  public func seconds(since other: MonotonicInstant) -> Double {
    let (difference, overflows) = nanoseconds.subtractingReportingOverflow(other.nanoseconds)
    return (overflows ? Double(nanoseconds) - Double(other.nanoseconds) : Double(difference)) / 1e9
  }

  public static func < (lhs: MonotonicInstant, rhs: MonotonicInstant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

  public static func - (lhs: MonotonicInstant, rhs: MonotonicInstant) -> Duration { rhs.duration(to: lhs) }

  public static func + (lhs: MonotonicInstant, rhs: Duration) -> MonotonicInstant { lhs.advanced(by: rhs) }
}

extension Duration {
  /// Whole nanoseconds. Of what is longer than 292 years, those.
  public var inNanoseconds: Int64 { Int64(clamping: attoseconds / 1_000_000_000) }

  public var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
