import CLinux
import MonotonicTime

/// The time of a recording: the system clock at its beginning, and the monotonic clock from then on, so that it never
/// goes back, whatever happens to the system's clock.
public struct RecordingTime: Sendable {
  /// When it began.
  public let beganNanosecondsSince1970: Int64
  private let beganAt: MonotonicInstant
  public let clock: any MonotonicTimeSource
  private let system: @Sendable () -> Int64

  /// - Parameter system: the system's clock, nanoseconds since 1970
  public init(
    clock: any MonotonicTimeSource = MonotonicClock(),
    system: @escaping @Sendable () -> Int64 = { clinux_realtime_ns() }
  ) {
    self.clock = clock
    self.system = system
    beganNanosecondsSince1970 = system()
    beganAt = clock.now
  }

  /// Nanoseconds since 1970.
  public func nanosecondsSince1970(at instant: MonotonicInstant) -> UInt64 {
    UInt64(clamping: beganNanosecondsSince1970 &+ (instant.nanoseconds &- beganAt.nanoseconds))
  }

  /// By how much it is ahead of the monotonic clock.
  public var offsetNanoseconds: Int64 { beganNanosecondsSince1970 &- beganAt.nanoseconds }

  /// When something was appended that has this time.
  func instant(ofNanosecondsSince1970 time: UInt64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: beganAt.nanoseconds &+ (Int64(clamping: time) &- beganNanosecondsSince1970))
  }

  /// By how much the system's clock is ahead of it now; `nil` where this thread was held up too often to tell.
  public var systemAheadNanoseconds: Int64? {
    for _ in 0..<3 {
      let before = clock.now
      let system = system()
      if clock.now - before < .milliseconds(1) { return system &- offsetNanoseconds &- before.nanoseconds }
    }
    return nil
  }

  /// The system's clock now.
  var systemNanosecondsSince1970: Int64 { system() }
}
