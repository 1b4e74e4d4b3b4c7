import Devices
import Publishing

/// Takes what the devices measure as it comes, before calibration and mount.
///
/// It is asked once for each device, and gives a function that is called on the device's own thread: no device is looked up
/// for a sample.
public protocol HubRecorder {
  func sentences(of id: String) -> @Sendable (ReceivedSentences) -> Void
  func batches(of id: String) -> @Sendable (IMUBatch) -> Void
  func magneticFields(of id: String) -> @Sendable (MagnetometerSample) -> Void
  func air(of id: String) -> @Sendable (BarometerSample) -> Void
  /// The current is what the sample means with the board's shunt.
  func supply(of id: String) -> @Sendable (SupplySample, _ amperes: Double) -> Void
}

extension Hub {
  /// Has everything taken that the devices measure, whichever of them are fused.
  ///
  /// - Parameter wakes: has all of them awake, and not only listened to while they are awake for others
  public func record(to recorder: some HubRecorder, as name: String, wakes: Bool) -> Lifetime {
    let lifetime = Lifetime()
    func hear<Sample>(_ reader: DeviceReader<Sample>, _ receive: @escaping @Sendable (Sample) -> Void) {
      let subscription =
        wakes
        ? reader.readings.subscribe(as: name, receiveValue: receive)
        : reader.readings.overheard.subscribe(as: name, receiveValue: receive)
      subscription.store(in: lifetime)
    }
    for entry in entries {
      let id = entry.description.id
      switch entry {
      case .receiver(_, let reader):
        reader.forwardSentences(to: recorder.sentences(of: id)).store(in: lifetime)
        // Its epochs follow from that.
        if wakes { hear(reader.device) { _ in } }
      case .imu(_, let reader): hear(reader, recorder.batches(of: id))
      case .magnetometer(_, let reader): hear(reader, recorder.magneticFields(of: id))
      case .barometer(_, let reader): hear(reader, recorder.air(of: id))
      case .supplyMonitor(let monitor, let reader):
        let receive = recorder.supply(of: id)
        hear(reader) { receive($0, monitor.amperes($0)) }
      }
    }
    return lifetime
  }
}
