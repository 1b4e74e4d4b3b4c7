import Devices
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import Publishing

/// Compares the system clock with the receiver's: by the pulse if there is one, otherwise by the arrival of the epoch.
struct ClockComparison {
  private static let second: Int64 = 1_000_000_000
  /// The longest time between the instant of a solution and the whole second that it belongs to, nanoseconds.
  private static let longestOffset: Int64 = 5_000_000

  private let fixLatency: Duration
  private var lastPulse: Int64?

  init(fixLatency: Duration) { self.fixLatency = fixLatency }

  /// The offsets as a lazy publisher. A subscription wakes the receivers, and the selected one gives the time.
  static func offsets(
    of devices: Property<DeviceRegistry>, on machine: Machine, last: MutableProperty<ClockOffset?>,
    lastPulse: MutableProperty<PulseStatus?>
  ) -> LazyPublisher<ClockOffset, Never> {
    let forgetting = machine.clock.onResume { [weak last, weak lastPulse] _ in
      last?.value = nil
      lastPulse?.value = nil
    }
    return LazyPublisher(deriving: "clock", clock: machine.clock) { [forgetting] (run) throws(Never) in
      _ = forgetting
      let repeated = RepeatedEpochs()
      let selected = devices.switchToLatest(by: { ObjectIdentifier($0.receivers) }) { devices in
        offsets(of: devices.receivers, on: machine, last: last, lastPulse: lastPulse, repeated)
      }
      return selected.subscribe(as: run.holders, receiveValue: { run.send($0) })
    }
  }

  private static func offsets(
    of receivers: ReceiverSelection, on machine: Machine, last: MutableProperty<ClockOffset?>,
    lastPulse: MutableProperty<PulseStatus?>, _ repeated: RepeatedEpochs
  ) -> LazyPublisher<ClockOffset, Never> {
    LazyPublisher(deriving: "clock", clock: machine.clock) { (run) throws(Never) in
      let sources = receivers.candidates.map { receiver in
        (
          // A pulse source that cannot be opened is reported when the board is put into service, so it is ignored here.
          pulse: receiver.description.pulse.flatMap { path in try? PulsePerSecond(path) }, receiver: receiver
        )
      }
      let comparisons = Guarded(sources.map { ClockComparison(fixLatency: $0.receiver.description.fixLatency) })
      let judges = Guarded(sources.map { _ in PulseJudge() })
      return receivers.epochs(as: run.holders, wakes: true) { epoch, receiver in
        guard repeated.isNew(epoch), let index = sources.firstIndex(where: { $0.receiver.rank == receiver.rank })
        else { return }
        let pulse = sources[index].pulse?.lastNanosecondsSince1970
        let system = systemTime(of: epoch.at, on: machine)
        let offset = comparisons.withLock { $0[index].offset(of: epoch, pulse: pulse, system: system) }
        if sources[index].receiver.description.pulse != nil {
          lastPulse.value = judges.withLock {
            $0[index].take(epoch, offset: offset, pulse: pulse, system: system)
          }
        }
        guard let offset else { return }
        last.value = offset
        run.send(offset)
      }
    }
  }

  /// The offset that an epoch shows; `nil` if it shows none.
  ///
  /// - Parameters:
  ///   - pulse: the time of the last pulse, by the system clock
  ///   - system: when the epoch's first byte was read, by the system clock
  mutating func offset(of epoch: GNSSObservation, pulse: Int64?, system: Int64) -> ClockOffset? {
    guard epoch.isTimeConfirmed, let time = epoch.fix.time?.nanosecondsSince1970 else { return nil }
    let arrival = ClockOffset(
      source: .epoch, receiverNanosecondsSince1970: time + Int64(fixLatency.inSeconds * 1e9),
      systemNanosecondsSince1970: system)
    guard let pulse else { return arrival }
    // A u-blox states the instant of its solution, which is some microseconds from the whole second of the pulse.
    let second = (time + ClockComparison.second / 2) / ClockComparison.second * ClockComparison.second
    // The epoch of a whole second follows that second's pulse, and comes before the next one.
    guard abs(time - second) <= ClockComparison.longestOffset, pulse != lastPulse,
      (0..<ClockComparison.second).contains(system - pulse)
    else {
      // After ten seconds without a pulse, the arrival of the epoch counts again. A clock that was set back shows the
      // last pulse in the future.
      return abs(system - pulse) > 10 * ClockComparison.second ? arrival : nil
    }
    lastPulse = pulse
    return ClockOffset(source: .pulse, receiverNanosecondsSince1970: second, systemNanosecondsSince1970: pulse)
  }

  private static func systemTime(of instant: MonotonicInstant, on machine: Machine) -> Int64 {
    machine.systemTime() - (machine.clock.now.nanoseconds - instant.nanoseconds)
  }
}

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
