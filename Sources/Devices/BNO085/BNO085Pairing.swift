import MonotonicTime

/// Joins the readings of two sensors with separate rates. A gyroscope reading waits until an accelerometer reading of
/// the same time or later has arrived, and gets the interpolated value.
struct BNO085Pairing {
  struct Reading {
    var at: MonotonicInstant
    var axes: SIMD3<Float>
  }

  private static let capacity = 64

  private var waiting = InlineArray<64, Reading>(
    repeating: Reading(at: MonotonicInstant(nanoseconds: 0), axes: .zero))
  private var count = 0
  private var earlier: Reading?
  private var latest: Reading?

  mutating func removeAll() {
    count = 0
    earlier = nil
    latest = nil
  }

  /// Adds a gyroscope reading.
  ///
  /// - Returns: `false` if there is no room, because no accelerometer reading arrived for `capacity` gyroscope
  ///   readings
  mutating func append(gyroscope: Reading, _ batch: inout IMUBatch) -> Bool {
    guard count < BNO085Pairing.capacity else { return false }
    waiting[count] = gyroscope
    count += 1
    join(&batch)
    return true
  }

  mutating func append(accelerometer: Reading, _ batch: inout IMUBatch) {
    earlier = latest
    latest = accelerometer
    join(&batch)
  }

  private mutating func join(_ batch: inout IMUBatch) {
    guard let latest else { return }
    var joined = 0
    while joined < count, waiting[joined].at <= latest.at, batch.count < IMUBatch.capacity {
      let gyroscope = waiting[joined]
      batch.append(
        IMUSample(
          at: gyroscope.at, gyroscope: gyroscope.axes, accelerometer: accelerometer(at: gyroscope.at, latest)))
      joined += 1
    }
    guard joined > 0 else { return }
    for index in joined..<count { waiting[index - joined] = waiting[index] }
    count -= joined
  }

  private func accelerometer(at instant: MonotonicInstant, _ latest: Reading) -> SIMD3<Float> {
    guard let earlier, earlier.at < latest.at else { return latest.axes }
    let share = instant.seconds(since: earlier.at) / latest.at.seconds(since: earlier.at)
    return earlier.axes + (latest.axes - earlier.axes) * Float(max(share, 0))
  }
}
