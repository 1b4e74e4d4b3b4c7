import MonotonicTime

/// The system clock and the receiver's clock at one instant.
public struct ClockOffset: Equatable, Sendable {
  public enum Source: String, Sendable {
    /// The first byte of an epoch: as good as the serial line, some hundredths of a second.
    case epoch
    /// The pulse at the beginning of a second: some microseconds.
    case pulse
  }

  public var source: Source
  /// UTC by the receiver, nanoseconds since 1970.
  public var receiverNanosecondsSince1970: Int64
  /// The system clock at that instant, nanoseconds since 1970.
  public var systemNanosecondsSince1970: Int64

  /// The amount by which the system clock is late.
  public var offsetSeconds: Double { Double(receiverNanosecondsSince1970 - systemNanosecondsSince1970) / 1e9 }
}
