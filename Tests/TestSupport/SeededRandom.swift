import Glibc

/// Reproducible randomness: the seed is printed, and SENSORHUB_SEED sets it.
///
/// There is one seed per run; each test draws its own numbers from it, independent of other tests. SplitMix64 (Steele,
/// Lea, Flood 2014).
public struct SeededRandom: RandomNumberGenerator, Sendable {
  /// The seed of this run: from the environment, or else a new one each time.
  public static let runSeed: UInt64 = {
    guard let text = getenv("SENSORHUB_SEED").map({ String(cString: $0) }) else { return .random(in: 0...UInt64.max) }
    guard let seed = UInt64(text) else {
      preconditionFailure("SENSORHUB_SEED is '\(text)', which is not a whole number")
    }
    return seed
  }()

  private var state: UInt64

  /// - Parameter test: the name of the test, which makes its numbers different from those of others
  public init(for test: String = #function) {
    print("chance: \(test.prefix { $0 != "(" }) can be repeated with SENSORHUB_SEED=\(SeededRandom.runSeed)")
    // Printed at once, because the next step may end the process.
    fflush(nil)
    self.init(seed: test.utf8.reduce(SeededRandom.runSeed) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
  }

  public init(seed: UInt64) { state = seed }

  public mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
