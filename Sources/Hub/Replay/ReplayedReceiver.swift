import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Decodes what a receiver was recorded to send.
final class ReplayedReceiver: ReplayRun {
  /// After a silence that a log does not tell of.
  private static let patience = Duration.milliseconds(300)

  private struct State: ~Copyable, Sendable {
    var decoder = ReceiverDecoder()
    var run: ReceiverRun
    var silence: ScheduledAction?
  }

  private let output: Activating<GNSSObservation, HardwareError>
  private let machine: Machine
  private let counted: ReceiverCounters
  private let before: ReceiverDecoder.Counters
  private let identification: ReceiverIdentification
  private let tap: Tap<ReceivedBytes>
  private let lacksSilences: Bool
  /// Only ever waited for by the one thread that plays.
  private let state: Guarded<State>

  init(
    _ monitor: DeviceMonitor, _ output: Activating<GNSSObservation, HardwareError>,
    remembers: Bool, counted: ReceiverCounters,
    _ identification: ReceiverIdentification, tap: Tap<ReceivedBytes>, lacksSilences: Bool, on machine: Machine
  ) {
    self.output = output
    self.machine = machine
    self.counted = counted
    before = counted.present
    self.identification = identification
    self.tap = tap
    self.lacksSilences = lacksSilences
    state = Guarded(
      State(
        run: ReceiverRun(
          suppliedAt: machine.clock.now, remembers: remembers, on: machine, monitor, allowsOldTimes: true)))
  }

  func take(_ sentences: ReceivedBytes) {
    if sentences.isSilence {
      endEpoch(at: sentences.beganAt)
      tap.forward()?(sentences)
      return
    }
    let (observations, speech) = state.withLock { state in
      state.silence?.cancel()
      var observations: [GNSSObservation] = []
      sentences.bytes.withUnsafeBufferPointer { bytes in
        // As they were read: what is more than one sentence at once, and the beginning of a single one some time before its rest.
        let begun = sentences.isSingleLine ? 1 : bytes.count
        let first = UnsafeBufferPointer(rebasing: bytes.prefix(begun))
        state.decoder.take(first, beganAt: sentences.beganAt, readAt: sentences.readAt) {
          observations.append(copy $0)
        }
        let rest = UnsafeBufferPointer(rebasing: bytes.dropFirst(begun))
        if !rest.isEmpty { state.decoder.take(rest, readAt: sentences.readAt) { observations.append(copy $0) } }
      }
      finish(&state)
      return (observations.map { state.run.take($0) }, state.decoder.speech)
    }
    identification.heard(speech)
    for observation in observations { output.send(observation) }
    tap.forward()?(sentences)
  }

  private func endEpoch(at end: MonotonicInstant? = nil) {
    let observations = state.withLock { state in
      var observations: [GNSSObservation] = []
      guard let end = end ?? state.decoder.silenceEndsAt else { return observations }
      state.silence?.cancel()
      state.decoder.endEpoch(at: end) { observations.append(copy $0) }
      finish(&state)
      return observations.map { state.run.take($0) }
    }
    for observation in observations { output.send(observation) }
  }

  private func finish(_ state: inout State) {
    counted.present = before + state.decoder.counters
    state.run.look(state.decoder.counters)
    // A recording says at which instant the hub noticed that a silence had ended an epoch, or took the epoch to go on: a busy one
    // may have been late for either.
    guard lacksSilences else { return }
    state.silence = state.decoder.silenceThatEnds.map { silence in
      machine.clock.schedule(at: machine.clock.now + silence + ReplayedReceiver.patience) { [weak self] in
        self?.endEpoch()
      }
    }
  }

  func end() { state.withLock { $0.silence?.cancel() } }
}

extension ReceivedBytes {
  fileprivate var isSingleLine: Bool { !isBinary && bytes.firstIndex(of: UInt8(ascii: "\n")) == bytes.count - 1 }
}
