import CLinux
import Devices
import Glibc
import Guarding
import MonotonicTime
import NMEA

/// Decides whether the time is certain enough to be sent to a receiver. It is certain if a receiver has confirmed it
/// since the hub started, or if the system clock is synchronized. On a board without a real-time clock, an
/// unsynchronized clock may be hours late.
final class HostTime: Sendable {
  private struct Confirmation {
    var time: UTCTime
    var at: MonotonicInstant
    /// The system clock at the instant `at`, nanoseconds since 1970.
    var system: Int64
  }

  /// The smallest sigma. An epoch arrives up to a second after the instant that it states.
  private static let leastSigma = Duration.seconds(1)
  /// The maximum drift of a crystal, a hundred parts per million.
  private static let drift = 1e-4
  /// The largest plausible difference, in seconds, between the progress of the system clock and that of the monotonic
  /// clock. A larger one shows that the system clock was set, or that the machine was suspended. The monotonic clock
  /// does not count a suspension.
  private static let mostDifference = 2.0

  private let clock: any MonotonicTimeSource
  private let systemTime: @Sendable () -> Int64
  private let systemError: @Sendable () -> Duration?
  private let last = Guarded<Confirmation?>(nil)

  /// - Parameters:
  ///   - systemTime: the system clock, nanoseconds since 1970
  ///   - systemError: its maximum error; `nil` if it is not synchronized
  init(
    clock: any MonotonicTimeSource, systemTime: @escaping @Sendable () -> Int64,
    systemError: @escaping @Sendable () -> Duration? = HostTime.systemError
  ) {
    self.clock = clock
    self.systemTime = systemTime
    self.systemError = systemError
  }

  /// Stores the time from a receiver that knows it.
  func confirm(_ time: UTCTime, at: MonotonicInstant) {
    // The system time at that instant. `known` compares the clocks later.
    let system = systemTime() - (clock.now - at).inNanoseconds
    last.withLock { $0 = Confirmation(time: time, at: at, system: system) }
  }

  /// Forgets the confirmed time, because the machine was suspended.
  func forget() { last.withLock { $0 = nil } }

  /// The known time; `nil` if it is not certain enough.
  var known: KnownTime? {
    let now = clock.now
    let system = systemTime()
    if let last = last.withLock({ $0 }) {
      let gone = now - last.at
      let goneOfSystem = Double(system - last.system) / 1e9
      if abs(goneOfSystem - gone.inSeconds) < HostTime.mostDifference + HostTime.drift * gone.inSeconds {
        return KnownTime(
          utc: UTCTime(nanosecondsSince1970: last.time.nanosecondsSince1970 + gone.inNanoseconds), at: now,
          sigma: HostTime.leastSigma + .seconds(HostTime.drift * gone.inSeconds))
      }
    }
    return systemError().map {
      KnownTime(utc: UTCTime(nanosecondsSince1970: system), at: now, sigma: max($0, HostTime.leastSigma))
    }
  }

  /// The clock's maximum error, from the kernel, or from systemd-timesyncd if the hub may not ask the kernel.
  static let systemError: @Sendable () -> Duration? = {
    let error = clinux_realtime_error_ns()
    if error >= 0 { return .nanoseconds(error) }
    return access("/run/systemd/timesync/synchronized", F_OK) == 0 ? leastSigma : nil
  }
}
