import Glibc

/// A second-order low-pass filter (Butterworth) for vectors. It begins with the mean of the first values, so that it
/// needs no time to settle.
struct LowPassFilter: Sendable {
  /// The filter coefficients for a time constant and a sample interval.
  struct Coefficients: Equatable, Sendable {
    /// The gain of the newest and the oldest value; the value between them has twice this gain.
    var b: Double
    var a1, a2: Double
    /// The number of initial samples that are averaged.
    var settlingCount: Double

    /// - Parameters:
    ///   - timeConstant: the time constant, in seconds, of a first-order filter whose transients decay equally fast
    ///   - interval: the time between samples, seconds
    init(timeConstant: Double, interval: Double) {
      guard timeConstant > interval / 2 else {
        // The time constant is at most half the sample interval, so values pass unfiltered.
        (b, a1, a2, settlingCount) = (1, 2, 1, 0)
        return
      }
      // Prewarped, so that the cut-off frequency is correct at every sample rate.
      let cutOff = 2.0.squareRoot() / (2 * .pi * timeConstant)
      let c = tan(.pi * cutOff * interval)
      let d = c * c + 2.0.squareRoot() * c + 1
      b = c * c / d
      a1 = 2 * (c * c - 1) / d
      a2 = (1 - 2.0.squareRoot() * c + c * c) / d
      settlingCount = timeConstant / interval
    }
  }

  private var first = SIMD3<Double>.zero
  private var second = SIMD3<Double>.zero
  private var count = 0.0
  private(set) var value = SIMD3<Double>.zero

  mutating func reset() { self = LowPassFilter() }

  /// Sets the filter to the state it would have after a long constant input.
  mutating func settle(at value: SIMD3<Double>, _ c: Coefficients) {
    self.value = value
    first = value * (1 - c.b)
    second = value * (c.b - c.a2)
    count = .infinity
  }

  @inline(__always)
  mutating func update(_ x: SIMD3<Double>, _ c: Coefficients) {
    guard count >= c.settlingCount else { return average(x, c) }
    // Transposed direct form II.
    let share = c.b * x
    let y = share + first
    first = share + share - c.a1 * y + second
    second = share - c.a2 * y
    value = y
  }

  private mutating func average(_ x: SIMD3<Double>, _ c: Coefficients) {
    count += 1
    let mean = value + (x - value) / count
    if count >= c.settlingCount { settle(at: mean, c) } else { value = mean }
  }
}
