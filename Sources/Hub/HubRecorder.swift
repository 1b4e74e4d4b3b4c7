import Devices
import MonotonicTime
import Publishing

/// Takes what the devices measure as it comes, before calibration and mount.
///
/// It is asked once for each device, and gives a function that is called on the device's own thread: no device is looked up
/// for a sample.
///
/// With each comes the instant as of which it was fused, or when it was read where it is not. No two that are fused have the same,
/// and they were fused in that order. Of sentences that is the first epoch which they end; which are fused is told besides.
public protocol HubRecorder {
  /// Those that tell of a silence come too.
  func sentences(of id: String) -> @Sendable (ReceivedBytes, MonotonicInstant) -> Void
  /// Which of a receiver's epochs were fused, and as of when.
  func epochs(of id: String) -> @Sendable (_ epochAt: MonotonicInstant, _ fusedAt: MonotonicInstant) -> Void
  func batches(of id: String) -> @Sendable (IMUBatch, MonotonicInstant) -> Void
  func magneticFields(of id: String) -> @Sendable (MagnetometerSample, MonotonicInstant) -> Void
  func air(of id: String) -> @Sendable (BarometerSample, MonotonicInstant) -> Void
  /// The current is what the sample means with the board's shunt.
  func supply(of id: String) -> @Sendable (SupplySample, _ amperes: Double, MonotonicInstant) -> Void
}

/// What is taken of a hub's devices, until it ends.
public struct HubRecording: Sendable {
  fileprivate let lifetime = Lifetime()
  /// Of the receivers.
  fileprivate var sentences: [(reader: ReceiverReader, subscription: Subscription)] = []

  public func end() {
    endButSentences()
    for (_, subscription) in sentences { subscription.cancel() }
  }

  /// Goes on with sentences alone: they come whether anybody wants them or not, and none is to be lost while a hub gives way to the
  /// next one.
  public func endButSentences() { lifetime.end() }
}

extension Hub {
  /// Has everything taken that the devices measure, whichever of them are fused.
  ///
  /// - Parameters:
  ///   - wakes: has all of them awake, and not only listened to while they are awake for others
  ///   - before: of the hub before this one, for the same recorder: what it hears of receivers that are this hub's as well is heard on,
  ///     and the rest of it ended
  public func record(
    to recorder: some HubRecorder, as holder: Holder, wakes: Bool, continuing before: HubRecording? = nil
  ) -> HubRecording {
    var recording = HubRecording()
    let lifetime = recording.lifetime
    defer {
      for (reader, subscription) in before?.sentences ?? []
      where !recording.sentences.contains(where: { $0.reader === reader }) { subscription.cancel() }
    }
    func wake<Sample>(_ reader: DeviceReader<Sample>) {
      if wakes { reader.readings.subscribe(as: holder, receiveValue: { _ in }).store(in: lifetime) }
    }
    func hear<Sample>(
      _ reader: DeviceReader<Sample>, readAt: @escaping @Sendable (Sample) -> MonotonicInstant,
      _ receive: @escaping @Sendable (Sample, MonotonicInstant) -> Void
    ) {
      // After it has been fused, which says as of when.
      reader.readings.overheardLast.subscribe(
        as: holder,
        receiveValue: { [fusedInstant = reader.fusedInstant] sample in
          receive(sample, fusedInstant.of(sampleReadAt: readAt(sample)))
        }
      ).store(in: lifetime)
      wake(reader)
    }
    for entry in entries {
      let id = entry.description.id
      switch entry {
      case .receiver(_, let reader):
        let heard = before?.sentences.first { $0.reader === reader }?.subscription
        recording.sentences.append((reader, heard ?? forward(reader, of: id, to: recorder)))
        // Its epochs follow from that.
        wake(reader.device)
      case .imu(_, let reader): hear(reader, readAt: { $0.readAt }, recorder.batches(of: id))
      case .magnetometer(_, let reader): hear(reader, readAt: { $0.at }, recorder.magneticFields(of: id))
      case .barometer(_, let reader): hear(reader, readAt: { $0.at }, recorder.air(of: id))
      case .supplyMonitor(let monitor, let reader):
        let receive = recorder.supply(of: id)
        hear(reader, readAt: { $0.at }) { receive($0, monitor.amperes($0), $1) }
      }
    }
    return recording
  }

  private func forward(_ reader: ReceiverReader, of id: String, to recorder: some HubRecorder) -> Subscription {
    let (receive, fused) = (recorder.sentences(of: id), recorder.epochs(of: id))
    let epochs = reader.fusedEpochs.add { fused($0.epochAt, $0.fusedAt) }
    let sentences = reader.forwardEverything { [fusedInstant = reader.device.fusedInstant] sentences in
      receive(sentences, fusedInstant.of(sampleReadAt: sentences.readAt))
    }
    return Subscription {
      epochs.cancel()
      sentences.cancel()
    }
  }
}
