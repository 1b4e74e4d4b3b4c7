import Devices
import MonotonicTime
import NMEA

/// The presence and the quality of a receiver's pulse.
public struct PulseStatus: Equatable, Sendable {
  public enum State: String, CaseIterable, Equatable, Sendable {
    /// No pulse has come for three seconds.
    case missing
    case present
    /// The pulse comes at varying instants.
    case unsteady
  }

  public var state: State
  /// When the status was determined.
  public var at: MonotonicInstant
  /// The difference between the last two comparisons with the system clock, seconds; `nil` without two consecutive
  /// comparisons.
  public var jitterSeconds: Double?
  /// The error of the last pulse as the receiver states it (TIM-TP), seconds.
  public var quantisationErrorSeconds: Double?
}

/// Judges a pulse by the epochs that come with it.
struct PulseJudge: Sendable {
  private static let lifetime: Int64 = 3_000_000_000
  /// The largest jitter of a steady pulse, seconds. The kernel stamps pulses to microseconds, and a slewed system clock
  /// changes by half a millisecond a second.
  private static let steady = 1e-3

  private var last: ClockOffset?
  private var jitter: Double?

  /// - Parameters:
  ///   - offset: the offset that the epoch shows; `nil` if it shows none
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
