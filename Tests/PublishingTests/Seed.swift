import Glibc

/// What a random test draws its numbers from: printed, and taken back from the environment to repeat a run.
struct Seed: CustomStringConvertible {
  let value: UInt64

  /// - Parameter test: stands with the seed in the output
  init(for test: String = #function) {
    value = getenv("SENSORHUB_SEED").flatMap { UInt64(String(cString: $0)) } ?? .random(in: 0...(1 << 32))
    print("\(test): SENSORHUB_SEED=\(value)")
  }

  var description: String { "SENSORHUB_SEED=\(value)" }

  /// The numbers of one of several threads.
  func random(_ index: Int = 0) -> SmallRandom { SmallRandom(seed: value &* 1000 &+ UInt64(index) &+ 1) }
}

/// xorshift: the same operations in every run with the same seed.
struct SmallRandom: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}
