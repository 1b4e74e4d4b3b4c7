import Devices
import Guarding
import Hub
import MonotonicTime
import Recording

/// What the devices measure, each in a channel of its own from the first time that it says something.
struct RecordedDevices: HubRecorder {
  let inbox: RecordInbox
  let clock: any MonotonicTimeSource

  func sentences(of id: String) -> @Sendable (ReceivedSentences) -> Void {
    let channel = inbox.register(RecordedChannel(topic: "/receiver/\(id)/raw", messageEncoding: "nmea0183"))
    return { [inbox] sentences in
      sentences.bytes.withUnsafeBytes {
        inbox.append($0, to: channel, at: sentences.beganAt, receivedAt: sentences.readAt)
      }
    }
  }

  func batches(of id: String) -> @Sendable (IMUBatch) -> Void {
    let channel = inbox.register(
      RecordedChannel(topic: "/imu/\(id)/batch", messageEncoding: "sensorhub-imu", schema: .imuBatch))
    let buffer = BatchBuffer()
    return { [inbox] batch in
      guard batch.count > 0 else { return }
      buffer.withBytes(of: batch) { inbox.append($0, to: channel, at: batch[0].at, receivedAt: batch.readAt) }
    }
  }

  func magneticFields(of id: String) -> @Sendable (MagnetometerSample) -> Void {
    let channel = RecordedJSON("/magnetometer/\(id)", .magnetometer, in: inbox)
    return { sample in
      channel.append(at: sample.at) { json in
        json.beginObject()
        json.member("x", Double(sample.field.x), decimals: 9)
        json.member("y", Double(sample.field.y), decimals: 9)
        json.member("z", Double(sample.field.z), decimals: 9)
        json.monotonic(sample.at)
        json.endObject()
      }
    }
  }

  func air(of id: String) -> @Sendable (BarometerSample) -> Void {
    let channel = RecordedJSON("/barometer/\(id)", .barometer, in: inbox)
    return { sample in
      channel.append(at: sample.at) { json in
        json.beginObject()
        json.member("pressure", sample.pressurePascals, decimals: 9)
        json.member("temperature", sample.temperatureCelsius, decimals: 9)
        json.member("humidity", sample.humidityPercent, decimals: 9)
        json.monotonic(sample.at)
        json.endObject()
      }
    }
  }

  func supply(of id: String) -> @Sendable (SupplySample, _ amperes: Double) -> Void {
    let channel = RecordedJSON("/supply/\(id)", .supply, in: inbox)
    return { sample, amperes in
      channel.append(at: sample.at) { json in
        json.beginObject()
        json.member("volts", sample.volts, decimals: 9)
        json.member("amperes", amperes, decimals: 9)
        json.member("shuntVolts", sample.shuntVolts, decimals: 9)
        json.monotonic(sample.at)
        json.endObject()
      }
    }
  }
}

/// Memory for batches that is used again.
private final class BatchBuffer: Sendable {
  private let bytes = Guarded<[UInt8]>([])

  init() { bytes.withLock { $0.reserveCapacity(RecordedBatch.largestByteCount) } }

  func withBytes(of batch: IMUBatch, _ body: (UnsafeRawBufferPointer) -> Void) {
    bytes.withLock { bytes in
      bytes.removeAll(keepingCapacity: true)
      RecordedBatch.append(batch, to: &bytes)
      bytes.withUnsafeBytes(body)
    }
  }
}
