import Devices
import Fusion
import MonotonicTime
import Publishing

/// Takes the output of devices: the inputs of the fusion, and the receivers' own bytes.
///
/// Each method is called once, and returns a function that is called on the devices' threads, so that no sample needs
/// a look-up of its device.
public protocol HubRecorder {
  /// Takes the output of a receiver.
  func sentences(of id: String) -> @Sendable (ReceivedBytes) -> Void
  /// Takes each input of the fusion with its instant. Inputs may come slightly out of order; no two have the same
  /// instant.
  ///
  /// - Parameter board: the board whose list gives the devices their places in inputs
  func inputs(on board: Board) -> @Sendable (FusionInput, MonotonicInstant) -> Void
}

/// The recording of a hub's devices, until it ends.
public struct HubRecording: Sendable {
  fileprivate let lifetime = Lifetime()
  /// The recordings of the receivers' sentences.
  fileprivate var sentences: [(reader: ReceiverReader, subscription: Subscription)] = []

  public func end() {
    endButSentences()
    for (_, subscription) in sentences { subscription.cancel() }
  }

  /// Ends the recording except for sentences, because none may be lost while the next hub takes over. Recording
  /// sentences keeps no device awake.
  public func endButSentences() { lifetime.end() }
}

extension Hub {
  /// Starts recording all output of the devices, whether it is fused or not.
  ///
  /// - Parameters:
  ///   - wakes: whether to wake all devices, instead of recording them while other clients keep them awake
  ///   - before: the previous hub's recording, for the same recorder. Shared receivers continue to be
  ///     recorded, and the rest ends
  public func record(
    to recorder: some HubRecorder, as holder: Holder, wakes: Bool, continuing before: HubRecording? = nil
  ) -> HubRecording {
    var recording = HubRecording()
    for case .receiver(let description, let reader) in entries {
      let heard = before?.sentences.first { $0.reader === reader }?.subscription
      let receive = recorder.sentences(of: description.id)
      recording.sentences.append((reader, heard ?? reader.forwardBytes(to: receive)))
    }
    for (reader, subscription) in before?.sentences ?? []
    where !recording.sentences.contains(where: { $0.reader === reader }) { subscription.cancel() }
    log.observe(recorder.inputs(on: board)).store(in: recording.lifetime)
    guard wakes else { return recording }
    for entry in entries {
      entry.reader.powerLease.subscribe(as: holder, receiveValue: { _ in }).store(in: recording.lifetime)
    }
    return recording
  }
}
