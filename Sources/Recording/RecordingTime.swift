import CLinux
import MonotonicTime
import Synchronization

/// The time of a recording: the system clock's time at the recording's beginning, advanced by the monotonic clock and
/// by the time for which the machine was suspended. The time never goes back, even if the system clock does.
public struct RecordingTime: Sendable {
  /// The time for which the machine was suspended since the recording's beginning, which the monotonic clock does not
  /// count.
  private final class Suspended: Sendable { let nanoseconds = Atomic<Int64>(0) }

  /// The beginning of the recording, by the system clock.
  public let beganNanosecondsSince1970: Int64
  private let beganAt: MonotonicInstant
  public let clock: any MonotonicTimeSource
  private let system: @Sendable () -> Int64
  private let suspended: Suspended
  private let observation: SuspendObservation

  /// - Parameter system: the system clock, nanoseconds since 1970
  public init(
    clock: any MonotonicTimeSource = MonotonicClock(),
    system: @escaping @Sendable () -> Int64 = { clinux_realtime_ns() }
  ) {
    self.clock = clock
    self.system = system
    beganNanosecondsSince1970 = system()
    beganAt = clock.now
    let suspended = Suspended()
    self.suspended = suspended
    observation = clock.onResume { slept in
      suspended.nanoseconds.wrappingAdd(slept.inNanoseconds, ordering: .relaxed)
    }
  }

  /// The recording's time at an instant, in nanoseconds since 1970.
  public func nanosecondsSince1970(at instant: MonotonicInstant) -> UInt64 {
    UInt64(clamping: offsetNanoseconds &+ instant.nanoseconds)
  }

  /// The offset from the monotonic clock to the recording's time. It grows when the machine was suspended.
  public var offsetNanoseconds: Int64 {
    beganNanosecondsSince1970 &- beganAt.nanoseconds &+ suspended.nanoseconds.load(ordering: .relaxed)
  }

  /// The present instant of a clock that, unlike the monotonic clock, continues while the machine is suspended.
  var nowWithSuspends: MonotonicInstant {
    MonotonicInstant(nanoseconds: clock.now.nanoseconds &+ suspended.nanoseconds.load(ordering: .relaxed))
  }

  /// The instant of a message with this log time.
  func instant(ofNanosecondsSince1970 time: UInt64) -> MonotonicInstant {
    MonotonicInstant(nanoseconds: Int64(clamping: time) &- offsetNanoseconds)
  }

  /// How far the system clock is ahead of the recording's time now; `nil` if this thread was interrupted too often to
  /// measure it.
  public var systemAheadNanoseconds: Int64? {
    for _ in 0..<3 {
      let before = clock.now
      let system = system()
      if clock.now - before < .milliseconds(1) { return system &- offsetNanoseconds &- before.nanoseconds }
    }
    return nil
  }

  /// The system clock's present time.
  var systemNanosecondsSince1970: Int64 { system() }
}
