import MonotonicTime

/// The system clock beside the receiver's at one instant.
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
  /// What the system clock said at that instant, nanoseconds since 1970.
  public var systemNanosecondsSince1970: Int64

  /// By how much the system clock is behind.
  public var offsetSeconds: Double { Double(receiverNanosecondsSince1970 - systemNanosecondsSince1970) / 1e9 }
}
