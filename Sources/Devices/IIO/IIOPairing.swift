/// Finds the accelerometer's value at the time of each gyroscope sample, for chips whose two sensors are separate
/// devices with separate clocks. The gyroscope's samples keep their times.
struct IIOPairing {
  struct Sample {
    /// The time in nanoseconds, on the same clock for both sensors.
    var at: Int64
    var vector: SIMD3<Float>
    /// Whether samples are missing before this one; only for the gyroscope.
    var followsGap = false
  }

  enum Outcome {
    case pair(gyroscope: Sample, accelerometer: SIMD3<Float>)
    /// The gyroscope sample is dropped, because the accelerometer measured nothing near its time.
    case alone
  }

  /// Half of the accelerometer's period, in nanoseconds. If a sample is this near, no other sample can be nearer.
  private let near: Int64
  /// The longest interval in nanoseconds between two samples over which values are interpolated.
  private let longestStep: Int64
  private var gyroscope = Queue()
  private var accelerometer = Queue()

  /// The number of further gyroscope samples for which there is room.
  var room: Int { gyroscope.room }

  /// - Parameter rateHz: the rate of the accelerometer
  init(rateHz: Double) {
    near = Int64(0.5e9 / rateHz)
    longestStep = Int64(2.5e9 / rateHz)
  }

  /// Adds a sample that is later than the previous ones. If there is no room, the oldest sample is dropped.
  mutating func add(gyroscope sample: Sample) { gyroscope.append(sample) }

  mutating func add(accelerometer sample: Sample) { accelerometer.append(sample) }

  /// The next gyroscope sample, with the accelerometer's value at its time. The value is interpolated between two
  /// samples, or taken from the newest sample if that is near. Returns `nil` if there is no gyroscope sample, or if it
  /// must wait for the accelerometer.
  mutating func next() -> Outcome? {
    guard gyroscope.count > 0 else { return nil }
    let sample = gyroscope[0]
    while accelerometer.count > 1, accelerometer[1].at <= sample.at { accelerometer.removeFirst() }
    guard accelerometer.count > 0 else { return nil }
    let before = accelerometer[0]
    if before.at > sample.at { return outcome(sample, beside: before) }
    guard accelerometer.count > 1 else {
      // Do not wait for the next sample if this one is near. The next one may be late, and hardly nearer.
      return sample.at - before.at <= near ? outcome(sample, beside: before) : nil
    }
    let after = accelerometer[1]
    let step = after.at - before.at
    if step > longestStep {
      return outcome(sample, beside: sample.at - before.at <= after.at - sample.at ? before : after)
    }
    gyroscope.removeFirst()
    let share = Float(Double(sample.at - before.at) / Double(step))
    return .pair(gyroscope: sample, accelerometer: before.vector + (after.vector - before.vector) * share)
  }

  private mutating func outcome(_ sample: Sample, beside neighbour: Sample) -> Outcome {
    gyroscope.removeFirst()
    guard abs(sample.at - neighbour.at) <= near else { return .alone }
    return .pair(gyroscope: sample, accelerometer: neighbour.vector)
  }

  /// A first-in, first-out queue without heap storage.
  private struct Queue {
    private static let capacity = 256

    private var samples = InlineArray<256, Sample>(repeating: Sample(at: 0, vector: .zero))
    private var first = 0
    private(set) var count = 0

    var room: Int { Queue.capacity - count }

    subscript(index: Int) -> Sample { samples[(first + index) % Queue.capacity] }

    mutating func append(_ sample: Sample) {
      if count == Queue.capacity { removeFirst() }
      samples[(first + count) % Queue.capacity] = sample
      count += 1
    }

    mutating func removeFirst() {
      first = (first + 1) % Queue.capacity
      count -= 1
    }
  }
}
