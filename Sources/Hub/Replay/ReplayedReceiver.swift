import Devices
import Guarding
import HardwareIO
import MonotonicTime
import Publishing

/// Decodes a receiver's recorded output.
final class ReplayedReceiver: ReplayRun {
  /// The time that is added to the silence that ends an epoch. The recording hub may have read late, and a log of
  /// sentences has a whole epoch at one instant.
  private static let patience = Duration.milliseconds(300)

  private struct State: ~Copyable, Sendable {
    var decoder = ReceiverDecoder()
    var run: ReceiverRun
    var silence: ScheduledAction?
  }

  private let output: ActivationContext<GNSSObservation, HardwareError>
  private let machine: Machine
  private let counted: ReceiverCounters
  private let before: ReceiverDecoder.Counters
  private let identification: ReceiverIdentification
  private let outputSubject: OutputSubject<ReceivedBytes>
  /// Only the thread that plays uses this lock.
  private let state: Guarded<State>

  init(
    _ monitor: DeviceMonitor, _ output: ActivationContext<GNSSObservation, HardwareError>,
    remembers: Bool, counted: ReceiverCounters,
    _ identification: ReceiverIdentification, outputSubject: OutputSubject<ReceivedBytes>, on machine: Machine
  ) {
    self.output = output
    self.machine = machine
    self.counted = counted
    before = counted.present
    self.identification = identification
    self.outputSubject = outputSubject
    state = Guarded(
      State(
        run: ReceiverRun(
          suppliedAt: machine.clock.now, remembers: remembers, on: machine, monitor, allowsOldTimes: true)))
  }

  func take(_ sentences: ReceivedBytes) {
    let (observations, speech) = state.withLock { state in
      state.silence?.cancel()
      var observations: [GNSSObservation] = []
      sentences.bytes.withUnsafeBufferPointer { bytes in
        state.decoder.take(bytes, beganAt: sentences.beganAt, readAt: sentences.readAt) {
          observations.append(copy $0)
        }
      }
      finish(&state)
      return (observations.map { state.run.take($0) }, state.decoder.speech)
    }
    identification.heard(speech)
    for observation in observations { output.send(observation) }
    outputSubject.forward()?(sentences)
  }

  private func endEpoch() {
    let observations = state.withLock { state in
      var observations: [GNSSObservation] = []
      guard let end = state.decoder.silenceEndsAt else { return observations }
      state.decoder.endEpoch(at: end) { observations.append(copy $0) }
      finish(&state)
      return observations.map { state.run.take($0) }
    }
    for observation in observations { output.send(observation) }
  }

  private func finish(_ state: inout State) {
    counted.present = before + state.decoder.counters
    state.run.look(state.decoder.counters)
    state.silence = state.decoder.silenceThatEnds.map { silence in
      machine.clock.schedule(at: machine.clock.now + silence + ReplayedReceiver.patience) { [weak self] in
        self?.endEpoch()
      }
    }
  }

  func end() { state.withLock { $0.silence?.cancel() } }
}
