import Devices
import MonotonicTime
import NMEA

/// Whether a receiver's pulse is there, and whether one can rely on it.
public struct PulseStatus: Equatable, Sendable {
  public enum State: String, CaseIterable, Equatable, Sendable {
    /// None has come for some seconds.
    case missing
    case present
    /// It comes, and not every second at the same instant.
    case unsteady
  }

  public var state: State
  /// When that was found.
  public var at: MonotonicInstant
  /// The difference between the last two comparisons with the system clock, seconds; `nil` if no two in a row were
  /// made.
  public var jitterSeconds: Double?
  /// By how much the last one was off, as the receiver says (TIM-TP), seconds.
  public var quantisationErrorSeconds: Double?
}

/// Judges a pulse by the epochs that come with it.
struct PulseJudge: Sendable {
  private static let lifetime: Int64 = 3_000_000_000
  /// The kernel stamps pulses to microseconds, and a system clock that is being slewed goes half a millisecond a second.
  private static let steady = 1e-3

  private var last: ClockOffset?
  private var jitter: Double?

  /// - Parameters:
  ///   - offset: the offset by the epoch
  ///   - pulse: the time of the last pulse, by the system clock
  ///   - system: the time at which the epoch's first byte was read, by the system clock
  mutating func take(
    _ epoch: GNSSObservation, offset: ClockOffset?, pulse: Int64?, system: Int64
  ) -> PulseStatus {
    guard let pulse, abs(system - pulse) < PulseJudge.lifetime else {
      (last, jitter) = (nil, nil)
      return PulseStatus(state: .missing, at: epoch.receivedAt)
    }
    if let offset, offset.source == .pulse {
      jitter = last.flatMap { last in
        let apart = offset.systemNanosecondsSince1970 - last.systemNanosecondsSince1970
        return apart < PulseJudge.lifetime ? abs(offset.offsetSeconds - last.offsetSeconds) : nil
      }
      last = offset
    }
    return PulseStatus(
      state: jitter.map { $0 > PulseJudge.steady } == true ? .unsteady : .present, at: epoch.receivedAt,
      jitterSeconds: jitter, quantisationErrorSeconds: epoch.fix.pulseErrorSeconds)
  }
}
