/// A point on Linux' CLOCK_MONOTONIC, the one clock of all samples and power events.
///
/// Kernel stamps (GPIO edges, PPS) are on the same clock, so a sample can carry the instant that the hardware gave it.
public struct MonotonicInstant: InstantProtocol, Sendable {
  /// Nanoseconds since an arbitrary start, usually the machine's boot.
  public var nanoseconds: Int64

  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  public func advanced(by duration: Duration) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: nanoseconds + duration.inNanoseconds)
  }

  public func duration(to other: MonotonicInstant) -> Duration {
    .nanoseconds(other.nanoseconds - nanoseconds)
  }

  /// Since another instant. Quicker than a `Duration`, which counts attoseconds in 128 bits.
  public func seconds(since other: MonotonicInstant) -> Double { Double(nanoseconds - other.nanoseconds) / 1e9 }

  public static func < (lhs: MonotonicInstant, rhs: MonotonicInstant) -> Bool { lhs.nanoseconds < rhs.nanoseconds }

  public static func - (lhs: MonotonicInstant, rhs: MonotonicInstant) -> Duration { rhs.duration(to: lhs) }

  public static func + (lhs: MonotonicInstant, rhs: Duration) -> MonotonicInstant { lhs.advanced(by: rhs) }
}

extension Duration {
  /// Whole nanoseconds; durations beyond 292 years do not occur here.
  public var inNanoseconds: Int64 { Int64(attoseconds / 1_000_000_000) }

  public var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
