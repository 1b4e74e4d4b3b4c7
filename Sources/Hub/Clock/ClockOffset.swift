import MonotonicTime

/// The system clock and the receiver's clock at one instant.
public struct ClockOffset: Equatable, Sendable {
  public enum Source: String, Sendable {
    /// The arrival of an epoch's first byte. It is as accurate as the serial line, some hundredths of a second.
    case epoch
    /// The pulse at the beginning of a second. It is accurate to some microseconds.
    case pulse
  }

  public var source: Source
  /// The receiver's UTC, nanoseconds since 1970.
  public var receiverNanosecondsSince1970: Int64
  /// The system clock at that instant, nanoseconds since 1970.
  public var systemNanosecondsSince1970: Int64

  /// How far the system clock is behind the receiver's, seconds.
  public var offsetSeconds: Double { Double(receiverNanosecondsSince1970 - systemNanosecondsSince1970) / 1e9 }
}
