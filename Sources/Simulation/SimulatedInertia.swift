import MonotonicTime

/// Converts the motion of the simulated vehicle into the samples of an inertial chip: which samples are due, and
/// their values in the chip's units.
struct SimulatedInertia: Sendable {
  /// The standard deviations of one sample.
  let ratesSigma: Double
  let forceSigma: Double
  /// When sampling began; `nil` while the chip does not sample.
  private(set) var start: MonotonicInstant?
  /// The number of samples taken, including lost samples.
  private(set) var sampleCount = 0
  private var noise: Noise

  /// - Parameters:
  ///   - ratesSigma: the noise of the rates, rad/s
  ///   - forceSigma: the noise of the force, m/s²
  init(seed: UInt64, ratesSigma: Double, forceSigma: Double) {
    noise = Noise(seed: seed)
    self.ratesSigma = ratesSigma
    self.forceSigma = forceSigma
  }

  mutating func begin(at start: MonotonicInstant?) {
    self.start = start
    sampleCount = 0
  }

  /// Takes the samples that have become due, in order. Returns the number of lost samples.
  ///
  /// - Parameters:
  ///   - period: the period in nanoseconds
  ///   - limit: the maximum number of samples to take; if more are due, only the newest are taken
  mutating func takeDue(
    at now: MonotonicInstant, period: Int64, limit: Int,
    _ take: (_ number: Int, _ at: MonotonicInstant, inout SimulatedInertia) -> Void
  ) -> Int {
    guard let start else { return 0 }
    let due = Int((now - start).inNanoseconds / period)
    let lost = max(0, due - sampleCount - limit)
    sampleCount += lost
    while sampleCount < due {
      sampleCount += 1
      take(sampleCount, start + .nanoseconds(period * Int64(sampleCount)), &self)
    }
    return lost
  }

  /// Returns the raw values of one sample, with noise. A unit is `degreesPerUnit` degrees per second, or
  /// `gravitiesPerUnit` times gravity.
  mutating func raw(
    _ truth: World.Truth, degreesPerUnit: Double, gravitiesPerUnit: Double
  ) -> (gyroscope: SIMD3<Int16>, accelerometer: SIMD3<Int16>) {
    let rates = (truth.rates + noise.vector(ratesSigma * truth.noiseScale)) * (180 / .pi / degreesPerUnit)
    let force = (truth.specificForce + noise.vector(forceSigma * truth.noiseScale)) * (1 / (gravitiesPerUnit * 9.80665))
    return (.units(rates), .units(force))
  }
}

extension SIMD3<Int16> {
  /// Rounds to integers and limits them to the range.
  static func units(_ vector: SIMD3<Double>) -> SIMD3<Int16> {
    func unit(_ value: Double) -> Int16 { Int16(clamping: Int(value.rounded())) }
    return SIMD3(unit(vector.x), unit(vector.y), unit(vector.z))
  }
}

extension [UInt8] {
  mutating func store(lowByteFirst axes: SIMD3<Int16>, at register: UInt8) {
    for axis in 0..<3 {
      self[Int(register) + 2 * axis] = UInt8(truncatingIfNeeded: axes[axis])
      self[Int(register) + 2 * axis + 1] = UInt8(truncatingIfNeeded: axes[axis] >> 8)
    }
  }

  mutating func append(lowByteFirst axes: SIMD3<Int16>) {
    for axis in 0..<3 {
      append(UInt8(truncatingIfNeeded: axes[axis]))
      append(UInt8(truncatingIfNeeded: axes[axis] >> 8))
    }
  }

  mutating func append(highByteFirst axes: SIMD3<Int16>) {
    for axis in 0..<3 {
      append(UInt8(truncatingIfNeeded: axes[axis] >> 8))
      append(UInt8(truncatingIfNeeded: axes[axis]))
    }
  }
}
