import MonotonicTime

/// One reading of an inertial sensor, in the chip's own axes.
public struct IMUSample: Equatable, Sendable {
  public var at: MonotonicInstant
  /// Angular rate, rad/s.
  public var gyroscope: SIMD3<Float>
  /// Specific force, m/s²: at rest it points up, with the length of gravity.
  public var accelerometer: SIMD3<Float>

  public init(at: MonotonicInstant, gyroscope: SIMD3<Float>, accelerometer: SIMD3<Float>) {
    self.at = at
    self.gyroscope = gyroscope
    self.accelerometer = accelerometer
  }

  /// Whether all six are numbers: an end of a scale is none.
  var isMeasured: Bool {
    let sum = gyroscope.sum() + accelerometer.sum()
    return sum.isFinite
  }
}

/// The samples that one burst brought, oldest first. A value without heap storage, so that a stream of them allocates
/// nothing.
public struct IMUBatch: Sendable {
  /// Most FIFOs hold no more; of a longer one the rest waits for the next batch.
  public static let capacity = 96

  private var storage: InlineArray<96, IMUSample>
  public private(set) var count = 0
  /// When the burst had been read.
  public var readAt = MonotonicInstant(nanoseconds: 0)
  /// Samples were lost between the batch before and this one: the FIFO had overflowed, or a read of it was torn.
  public var followsGap = false
  /// Of the chip's die, degrees Celsius.
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

  /// Adds a sample; one that is no number is left out.
  public mutating func append(_ sample: IMUSample) {
    if sample.isMeasured { place(sample) }
  }

  private mutating func place(_ sample: IMUSample) {
    guard count < IMUBatch.capacity else { return }
    storage[count] = sample
    count += 1
  }

  /// A sample that gets its time with `stamp`. One that is no number keeps its place until then.
  mutating func append(gyroscope: SIMD3<Float>, accelerometer: SIMD3<Float>) {
    place(IMUSample(at: MonotonicInstant(nanoseconds: 0), gyroscope: gyroscope, accelerometer: accelerometer))
  }

  /// Gives the samples their times, `period` nanoseconds apart, and leaves out those that are no numbers.
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

  /// Moves all its times.
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
