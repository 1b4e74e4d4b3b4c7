import Devices
import Fusion
import Guarding
import Hub
import MonotonicTime
import Recording

/// Records the inputs of the fusion. Each device has its own channel, and the channel `/fusion` has the beginnings and
/// ends of the fusion's runs and the expiries. The log time of an input is the exact instant at which it was fused, and no two inputs
/// have the same log time. A replay in this order produces the same states.
///
/// Measurements are recorded exactly: if a bit were lost, a replay could round a value differently.
final class RecordedInputs: Sendable {
  /// The destination of a device's inputs.
  private enum Channel: Sendable {
    /// A channel of binary messages, by its number in the inbox.
    case bytes(Int)
    case json(RecordedJSON)
  }

  private let inbox: RecordInbox
  private let names: DeviceNames
  private let runs: RecordedJSON
  private let devices: [DeviceDescription]
  /// The channels, in the order of the devices in the board's list.
  private let channels: [Channel]
  /// Reused memory for binary messages.
  private let buffer = Guarded<[UInt8]>([])

  init(of board: Board, in inbox: RecordInbox) {
    self.inbox = inbox
    names = DeviceNames(board.devices.map(\.id))
    runs = RecordedJSON("/fusion", .fusion, in: inbox)
    devices = board.devices
    channels = board.devices.map { device in
      let id = device.id
      return switch device.kind {
      case .receiver:
        .bytes(
          inbox.register(
            RecordedChannel(topic: "/receiver/\(id)/epoch", messageEncoding: "sensorhub-epoch", schema: .epoch)))
      case .imu:
        .bytes(
          inbox.register(
            RecordedChannel(topic: "/imu/\(id)/batch", messageEncoding: "sensorhub-imu", schema: .imuBatch)))
      case .magnetometer: .json(RecordedJSON("/magnetometer/\(id)", .magnetometer, in: inbox))
      case .barometer: .json(RecordedJSON("/barometer/\(id)", .barometer, in: inbox))
      case .supplyMonitor: .json(RecordedJSON("/supply/\(id)", .supply, in: inbox))
      }
    }
    buffer.withLock { $0.reserveCapacity(RecordedBatch.largestByteCount) }
  }

  func append(_ input: FusionInput, at instant: MonotonicInstant) {
    switch input {
    case .begin(let knowledge): append(isUnderWay: true, knowledge, at: instant)
    case .end: append(isUnderWay: false, nil, at: instant)
    case .expiry: appendExpiry(at: instant)
    case .epoch(let place, let epoch):
      write(place, at: epoch.at, instant) { RecordedEpoch.append(epoch, to: &$0) }
    case .imu(let place, let batch):
      if batch.count > 0 { write(place, at: batch[0].at, instant) { RecordedBatch.append(batch, to: &$0) } }
    case .field(let place, let sample):
      write(place, at: sample.at, instant) { json in
        json.member("x", exactly: sample.field.x)
        json.member("y", exactly: sample.field.y)
        json.member("z", exactly: sample.field.z)
      }
    case .air(let place, let sample):
      write(place, at: sample.at, instant) { json in
        json.member("pressure", exactly: sample.pressurePascals)
        json.member("temperature", exactly: sample.temperatureCelsius)
        json.member("humidity", exactly: sample.humidityPercent)
      }
    case .supply(let place, let sample):
      write(place, at: sample.at, instant) { json in
        json.member("volts", exactly: sample.volts)
        if case .supplyMonitor(let monitor) = devices[place] {
          json.member("amperes", exactly: monitor.amperes(sample))
        }
        json.member("shuntVolts", exactly: sample.shuntVolts)
      }
    }
  }

  private func appendExpiry(at instant: MonotonicInstant) {
    runs.append(at: instant, receivedAt: instant, isWritten: false) { json in
      json.beginObject()
      // The object has no `underWay`: older versions would begin or end a run. Without it they skip the message.
      json.member("expiry", true)
      json.monotonic(instant)
      json.endObject()
    }
  }

  private func append(isUnderWay: Bool, _ knowledge: FusionKnowledge?, at instant: MonotonicInstant) {
    // The beginning or end of a run alone does not start a file. It waits until a device's message is written.
    runs.append(at: instant, receivedAt: instant, isWritten: false) { json in
      json.beginObject()
      json.member("underWay", isUnderWay)
      if let position = knowledge?.position {
        json.member("lat", exactly: position.value.latitudeDegrees)
        json.member("lon", exactly: position.value.longitudeDegrees)
        json.member("altHAE", exactly: position.value.altitudeHAEMetres)
        json.member("altMSL", exactly: position.value.altitudeMSLMetres)
        json.member("sigmaH", exactly: position.value.horizontalSigmaMetres)
        json.member("sigmaV", exactly: position.value.verticalSigmaMetres)
        json.member("positionNanoseconds", Int(position.at.nanoseconds))
        json.member("positionSource", names.text(position.source))
      }
      if let time = knowledge?.time {
        json.member("utcNanoseconds", Int(time.utcNanoseconds))
        json.member("utcAtNanoseconds", Int(time.at.nanoseconds))
      }
      json.monotonic(instant)
      json.endObject()
    }
  }

  private func write(
    _ place: Int, at stamp: MonotonicInstant, _ instant: MonotonicInstant, _ encode: (inout [UInt8]) -> Void
  ) {
    guard channels.indices.contains(place), case .bytes(let channel) = channels[place] else { return }
    buffer.withLock { bytes in
      bytes.removeAll(keepingCapacity: true)
      encode(&bytes)
      bytes.withUnsafeBytes { inbox.append($0, to: channel, at: stamp, receivedAt: instant) }
    }
  }

  private func write(
    _ place: Int, at stamp: MonotonicInstant, _ instant: MonotonicInstant, _ encode: (inout JSONWriter) -> Void
  ) {
    guard channels.indices.contains(place), case .json(let channel) = channels[place] else { return }
    channel.append(at: stamp, receivedAt: instant) { json in
      json.beginObject()
      encode(&json)
      json.monotonic(stamp)
      json.endObject()
    }
  }
}
