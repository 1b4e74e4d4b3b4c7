import Devices
import Fusion
import MonotonicTime
import Publishing

/// Records the output of devices: the inputs of the fusion, and the receivers' own bytes.
///
/// Each method is called once, and returns a function that is called on the devices' threads, so that no sample needs a
/// look-up of its device.
public protocol HubRecorder {
  /// Returns the function that records the output of a receiver.
  func sentences(of id: String) -> @Sendable (ReceivedBytes) -> Void
  /// Returns the function that records each input of the fusion with its instant. Inputs may come slightly out of
  /// order; no two have the same instant.
  ///
  /// - Parameter board: the board whose list gives the devices their places in inputs
  func inputs(on board: Board) -> @Sendable (FusionInput, MonotonicInstant) -> Void
}

/// The recording of a hub's devices, until it ends.
public struct HubRecording: Sendable {
  /// The recording of the fusion's inputs, which depend on the board.
  fileprivate let inputs: Subscription
  /// The recordings of the receivers' sentences.
  fileprivate let sentences: [(reader: ReceiverReader, subscription: Subscription)]
  /// Keeps the devices awake; `nil` if the recording only observes.
  fileprivate let lease: Subscription?

  public func end() {
    inputs.cancel()
    for (_, subscription) in sentences { subscription.cancel() }
    lease?.cancel()
  }
}

extension Hub {
  /// Starts recording all output of the devices of the board in service, whether it is fused or not.
  ///
  /// - Parameters:
  ///   - wakes: whether to wake all devices, instead of recording them while other clients keep them awake
  ///   - before: the recording of the previous board's devices, for the same recorder, which this one replaces. No
  ///     sentence of a receiver that both boards have is lost, and no device is switched off in between
  public func record(
    to recorder: some HubRecorder, as holder: Holder, wakes: Bool, continuing before: HubRecording? = nil
  ) -> HubRecording {
    before?.inputs.cancel()
    let devices = registry.value
    var sentences: [(reader: ReceiverReader, subscription: Subscription)] = []
    for case .receiver(let description, let reader) in devices.entries {
      let heard = before?.sentences.first { $0.reader === reader }?.subscription
      let receive = recorder.sentences(of: description.id)
      sentences.append((reader, heard ?? reader.forwardBytes(to: receive)))
    }
    for (reader, subscription) in before?.sentences ?? []
    where !sentences.contains(where: { $0.reader === reader }) { subscription.cancel() }
    let inputs = states.log.observe(hasEarlier: before != nil, recorder.inputs(on: devices.board))
    let lease = wakes ? before?.lease ?? leaseOnAllDevices.subscribe(as: holder, receiveValue: { _ in }) : nil
    return HubRecording(inputs: inputs, sentences: sentences, lease: lease)
  }

  /// Keeps all devices awake, fused or not.
  private var leaseOnAllDevices: Deferred<Void, Never> {
    registry.switchToLatest(by: { $0.readers.map { ObjectIdentifier($0) } }) { [clock = machine.clock] devices in
      LazyPublisher(deriving: "all devices", clock: clock) { (run) throws(Never) in
        let lifetime = Lifetime()
        for reader in devices.readers {
          reader.powerLease.subscribe(as: run.holders, receiveValue: { _ in }).store(in: lifetime)
        }
        return Subscription { lifetime.end() }
      }
    }
  }
}
