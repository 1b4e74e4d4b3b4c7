import Devices
import MonotonicTime

/// A batch of inertial samples in a recording, `sensorhub.IMUBatch`, little-endian. It begins with a UInt32 count, a
/// UInt8 that says whether the batch follows a gap, 3 zero bytes and a Float32 temperature in degrees Celsius (NaN if
/// unknown). Each sample then has an Int64 CLOCK_MONOTONIC in nanoseconds, 3 Float32 gyroscope in rad/s and 3 Float32
/// accelerometer in m/s².
public enum RecordedBatch {
  private static let headByteCount = 12
  private static let sampleByteCount = 32
  public static let largestByteCount = headByteCount + IMUBatch.capacity * sampleByteCount

  public static func append(_ batch: IMUBatch, to bytes: inout [UInt8]) {
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
  }

  /// Reads a batch; `nil` if the data is invalid. The data does not state when the batch was read; the time of the
  /// message does.
  public static func read(_ data: ArraySlice<UInt8>) -> IMUBatch? {
    data.withUnsafeBytes { bytes in
      guard bytes.count >= headByteCount else { return nil }
      let count = Int(integer(bytes, 0, UInt32.self))
      guard count <= IMUBatch.capacity, bytes.count == headByteCount + count * sampleByteCount else { return nil }
      var batch = IMUBatch()
      batch.followsGap = bytes[4] != 0
      let temperature = float(bytes, 8)
      batch.temperatureCelsius = temperature.isNaN ? nil : temperature
      for index in 0..<count {
        let offset = headByteCount + index * sampleByteCount
        batch.append(
          IMUSample(
            at: MonotonicInstant(nanoseconds: integer(bytes, offset, Int64.self)),
            gyroscope: vector(bytes, offset + 8), accelerometer: vector(bytes, offset + 20)))
      }
      return batch
    }
  }

  private static func integer<Value: FixedWidthInteger & BitwiseCopyable>(
    _ bytes: UnsafeRawBufferPointer, _ offset: Int, _ type: Value.Type
  ) -> Value {
    Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: type))
  }

  private static func float(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Float {
    Float(bitPattern: integer(bytes, offset, UInt32.self))
  }

  private static func vector(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> SIMD3<Float> {
    SIMD3(float(bytes, offset), float(bytes, offset + 4), float(bytes, offset + 8))
  }
}
