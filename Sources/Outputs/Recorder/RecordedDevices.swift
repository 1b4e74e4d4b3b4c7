import Devices
import Guarding
import Hub
import MonotonicTime
import Recording

/// What the devices measure, each in a channel of its own from the first time that it says something.
///
/// Measurements are exact: one that is half way between two numbers would be rounded the other way in a replay if it lost a bit.
struct RecordedDevices: HubRecorder {
  let inbox: RecordInbox
  let systemClock: RecordedSystemClock

  func sentences(of id: String) -> @Sendable (ReceivedBytes, MonotonicInstant) -> Void {
    let channel = inbox.register(RecordedChannel(topic: "/receiver/\(id)/raw", messageEncoding: "nmea0183"))
    let silences = RecordedJSON("/receiver/\(id)/silence", .silence, in: inbox)
    return { [inbox, systemClock] sentences, instant in
      systemClock.look(before: instant)
      if sentences.isSilence {
        silences.append(at: sentences.beganAt, receivedAt: instant) { json in
          json.beginObject()
          json.monotonic(sentences.beganAt)
          json.endObject()
        }
        return
      }
      sentences.bytes.withUnsafeBytes {
        inbox.append($0, to: channel, at: sentences.beganAt, receivedAt: instant)
      }
    }
  }

  func epochs(of id: String) -> @Sendable (_ epochAt: MonotonicInstant, _ fusedAt: MonotonicInstant) -> Void {
    let channel = RecordedJSON("/receiver/\(id)/fused", .fusedEpoch, in: inbox)
    return { epochAt, fusedAt in
      channel.append(at: epochAt, receivedAt: fusedAt) { json in
        json.beginObject()
        json.monotonic(epochAt)
        json.endObject()
      }
    }
  }

  func batches(of id: String) -> @Sendable (IMUBatch, MonotonicInstant) -> Void {
    let channel = inbox.register(
      RecordedChannel(topic: "/imu/\(id)/batch", messageEncoding: "sensorhub-imu", schema: .imuBatch))
    let buffer = BatchBuffer()
    return { [inbox] batch, instant in
      guard batch.count > 0 else { return }
      buffer.withBytes(of: batch) { inbox.append($0, to: channel, at: batch[0].at, receivedAt: instant) }
    }
  }

  func magneticFields(of id: String) -> @Sendable (MagnetometerSample, MonotonicInstant) -> Void {
    let channel = RecordedJSON("/magnetometer/\(id)", .magnetometer, in: inbox)
    return { sample, instant in
      channel.append(at: sample.at, receivedAt: instant) { json in
        json.beginObject()
        json.member("x", exactly: sample.field.x)
        json.member("y", exactly: sample.field.y)
        json.member("z", exactly: sample.field.z)
        json.monotonic(sample.at)
        json.endObject()
      }
    }
  }

  func air(of id: String) -> @Sendable (BarometerSample, MonotonicInstant) -> Void {
    let channel = RecordedJSON("/barometer/\(id)", .barometer, in: inbox)
    return { sample, instant in
      channel.append(at: sample.at, receivedAt: instant) { json in
        json.beginObject()
        json.member("pressure", exactly: sample.pressurePascals)
        json.member("temperature", exactly: sample.temperatureCelsius)
        json.member("humidity", exactly: sample.humidityPercent)
        json.monotonic(sample.at)
        json.endObject()
      }
    }
  }

  func supply(of id: String) -> @Sendable (SupplySample, _ amperes: Double, MonotonicInstant) -> Void {
    let channel = RecordedJSON("/supply/\(id)", .supply, in: inbox)
    return { sample, amperes, instant in
      channel.append(at: sample.at, receivedAt: instant) { json in
        json.beginObject()
        json.member("volts", exactly: sample.volts)
        json.member("amperes", exactly: amperes)
        json.member("shuntVolts", exactly: sample.shuntVolts)
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
