import Devices
import Guarding
import Hub
import MonotonicTime
import Recording

/// What the devices measure, each in a channel of its own from the first time that it says something.
struct RecordedDevices: HubRecorder {
  let inbox: RecordInbox
  let clock: any MonotonicTimeSource

  func sentences(of id: String) -> @Sendable ([UInt8]) -> Void {
    let channel = inbox.register(RecordedChannel(topic: "/receiver/\(id)/raw", messageEncoding: "nmea0183"))
    return { [inbox, clock] bytes in bytes.withUnsafeBytes { inbox.append($0, to: channel, at: clock.now) } }
  }

  func batches(of id: String) -> @Sendable (IMUBatch) -> Void {
    let channel = inbox.register(
      RecordedChannel(topic: "/imu/\(id)/batch", messageEncoding: "sensorhub-imu", schema: .imuBatch))
    let buffer = BatchBuffer()
    return { [inbox] batch in
      guard batch.count > 0 else { return }
      buffer.withBytes(of: batch) { inbox.append($0, to: channel, at: batch[0].at) }
    }
  }

  func magneticFields(of id: String) -> @Sendable (MagnetometerSample) -> Void {
    let channel = RecordedJSON("/magnetometer/\(id)", .magnetometer, in: inbox)
    return { sample in
      channel.append(at: sample.at) { json in
        json.beginObject()
        json.member("x", Double(sample.field.x), decimals: 5)
        json.member("y", Double(sample.field.y), decimals: 5)
        json.member("z", Double(sample.field.z), decimals: 5)
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
        json.member("pressure", sample.pressurePascals, decimals: 4)
        json.member("temperature", sample.temperatureCelsius, decimals: 4)
        json.member("humidity", sample.humidityPercent, decimals: 4)
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
        json.member("volts", sample.volts, decimals: 6)
        json.member("amperes", amperes, decimals: 8)
        json.monotonic(sample.at)
        json.endObject()
      }
    }
  }
}

/// Batches as `sensorhub.IMUBatch` has them, in memory that is used again.
private final class BatchBuffer: Sendable {
  private static let headByteCount = 12
  private static let sampleByteCount = 32

  private let bytes = Guarded<[UInt8]>([])

  init() {
    bytes.withLock {
      $0.reserveCapacity(BatchBuffer.headByteCount + IMUBatch.capacity * BatchBuffer.sampleByteCount)
    }
  }

  func withBytes(of batch: IMUBatch, _ body: (UnsafeRawBufferPointer) -> Void) {
    bytes.withLock { bytes in
      bytes.removeAll(keepingCapacity: true)
      func append(_ value: some FixedWidthInteger & BitwiseCopyable) {
        withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
      }
      append(UInt32(batch.count))
      append(UInt32(batch.followsGap ? 1 : 0))
      append((batch.temperatureCelsius ?? .nan).bitPattern)
      for index in 0..<batch.count {
        let sample = batch[index]
        append(sample.at.nanoseconds)
        for axis in 0..<3 { append(sample.gyroscope[axis].bitPattern) }
        for axis in 0..<3 { append(sample.accelerometer[axis].bitPattern) }
      }
      bytes.withUnsafeBytes(body)
    }
  }
}
