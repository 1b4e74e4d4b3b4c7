import TestSupport

/// What a random test of several threads draws its numbers from: printed, and taken back from the environment to repeat a
/// run.
struct Seed: CustomStringConvertible {
  private let value = SeededRandom.runSeed

  /// - Parameter test: stands with the seed in the output
  init(for test: String = #function) { print("\(test): \(self)") }

  var description: String { "SENSORHUB_SEED=\(value)" }

  /// The numbers of one of several threads.
  func random(_ index: Int = 0) -> SeededRandom { SeededRandom(seed: value &* 1000 &+ UInt64(index) &+ 1) }
}
