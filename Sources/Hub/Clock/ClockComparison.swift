import Devices
import Guarding
import HardwareIO
import MonotonicTime
import NMEA
import Publishing

/// Compares the system clock with the receiver's: by the pulse if there is one, otherwise by the arrival of the epoch.
struct ClockComparison {
  private static let second: Int64 = 1_000_000_000

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
    return devices.switchToLatest(by: { ObjectIdentifier($0.receivers) }) { [forgetting] devices in
      _ = forgetting
      return offsets(of: devices.receivers, on: machine, last: last, lastPulse: lastPulse)
    }.shared(as: "clock", clock: machine.clock)
  }

  private static func offsets(
    of receivers: ReceiverSelection, on machine: Machine, last: MutableProperty<ClockOffset?>,
    lastPulse: MutableProperty<PulseStatus?>
  ) -> LazyPublisher<ClockOffset, Never> {
    LazyPublisher(deriving: "clock", clock: machine.clock) { (run) throws(Never) in
      let sources = receivers.candidates.map { receiver in
        (
          // A source that cannot be opened is reported when the board is put into service.
          pulse: receiver.description.pulse.flatMap { path in try? PulsePerSecond(path) }, receiver: receiver
        )
      }
      let comparisons = Guarded(sources.map { ClockComparison(fixLatency: $0.receiver.description.fixLatency) })
      let judges = Guarded(sources.map { _ in PulseJudge() })
      return receivers.epochs(as: run.holders, wakes: true) { epoch, receiver in
        guard let index = sources.firstIndex(where: { $0.receiver.rank == receiver.rank }) else { return }
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
    // The epoch of a whole second follows that second's pulse, and comes before the next one.
    guard time % ClockComparison.second == 0, pulse != lastPulse, (0..<ClockComparison.second).contains(system - pulse)
    else {
      // After ten seconds without a pulse, the arrival of the epoch counts again.
      return system - pulse > 10 * ClockComparison.second ? arrival : nil
    }
    lastPulse = pulse
    return ClockOffset(source: .pulse, receiverNanosecondsSince1970: time, systemNanosecondsSince1970: pulse)
  }

  private static func systemTime(of instant: MonotonicInstant, on machine: Machine) -> Int64 {
    machine.systemTime() - (machine.clock.now.nanoseconds - instant.nanoseconds)
  }
}
