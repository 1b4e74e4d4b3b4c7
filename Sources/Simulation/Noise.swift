import Glibc

/// Reproducible noise: the same seed produces the same values.
struct Noise: Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  /// A uniformly distributed value, above 0 and at most 1.
  mutating func uniform() -> Double {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return (Double(state >> 11) + 1) / 9_007_199_254_740_992
  }

  /// A normally distributed value with mean 0 and standard deviation 1 (Box and Muller).
  mutating func normal() -> Double { (-2 * log(uniform())).squareRoot() * cos(2 * .pi * uniform()) }

  mutating func vector(_ sigma: Double) -> SIMD3<Double> { SIMD3(normal(), normal(), normal()) * sigma }
}
