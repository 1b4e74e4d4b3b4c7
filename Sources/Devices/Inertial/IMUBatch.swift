import MonotonicTime

/// One reading of an inertial sensor, in the chip's own axes.
public struct IMUSample: Equatable, Sendable {
  public var at: MonotonicInstant
  /// The angular rate, rad/s.
  public var gyroscope: SIMD3<Float>
  /// The specific force, m/s². At rest it points up, and its length is the acceleration of gravity.
  public var accelerometer: SIMD3<Float>

  public init(at: MonotonicInstant, gyroscope: SIMD3<Float>, accelerometer: SIMD3<Float>) {
    self.at = at
    self.gyroscope = gyroscope
    self.accelerometer = accelerometer
  }

  /// Whether all six values are numbers. A value at an end of the scale is NaN.
  var isMeasured: Bool {
    let sum = gyroscope.sum() + accelerometer.sum()
    return sum.isFinite
  }
}

/// The samples of one burst, oldest first. The value has no heap storage, so a stream of batches allocates nothing.
public struct IMUBatch: Sendable {
  /// The maximum number of samples. Most FIFOs are not longer; the rest of a longer FIFO waits for the next batch.
  public static let capacity = 96

  private var storage: InlineArray<96, IMUSample>
  public private(set) var count = 0
  /// When the burst was read.
  public var readAt = MonotonicInstant(nanoseconds: 0)
  /// Whether samples were lost before this batch, because the FIFO overflowed or a read was damaged.
  public var followsGap = false
  /// The temperature of the chip's die, degrees Celsius.
  public var temperatureCelsius: Float?

  public init() {
    storage = InlineArray(
      repeating: IMUSample(at: MonotonicInstant(nanoseconds: 0), gyroscope: .zero, accelerometer: .zero))
  }

  /// - Precondition: `index` is below `count`.
  public subscript(index: Int) -> IMUSample {
    precondition(index < count)
    return storage[index]
  }

  /// Adds a sample, unless one of its values is not a number or the batch is full.
  public mutating func append(_ sample: IMUSample) {
    if sample.isMeasured { place(sample) }
  }

  private mutating func place(_ sample: IMUSample) {
    guard count < IMUBatch.capacity else { return }
    storage[count] = sample
    count += 1
  }

  /// Adds a sample without a time. `stamp` sets the time later, from the sample's place in the batch, so a sample with
  /// a value that is not a number stays in the batch until then.
  mutating func append(gyroscope: SIMD3<Float>, accelerometer: SIMD3<Float>) {
    place(IMUSample(at: MonotonicInstant(nanoseconds: 0), gyroscope: gyroscope, accelerometer: accelerometer))
  }

  /// Gives the samples times at intervals of `period` nanoseconds, and removes samples with values that are not
  /// numbers.
  mutating func stamp(first: Int64, period: Double) {
    var kept = 0
    for index in 0..<count {
      var sample = storage[index]
      guard sample.isMeasured else { continue }
      sample.at = MonotonicInstant(nanoseconds: first + Int64(period * Double(index)))
      storage[kept] = sample
      kept += 1
    }
    count = kept
  }

  /// Shifts all times.
  public mutating func shift(by duration: Duration) {
    let nanoseconds = duration.inNanoseconds
    for index in 0..<count { storage[index].at.nanoseconds &+= nanoseconds }
    readAt.nanoseconds &+= nanoseconds
  }

  public mutating func removeAll() {
    count = 0
    followsGap = false
    temperatureCelsius = nil
  }
}
