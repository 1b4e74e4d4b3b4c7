import TestSupport

/// The seed for the random numbers of a multi-threaded test. It is printed, and can be set in the environment to
/// repeat a run.
struct Seed: CustomStringConvertible {
  private let value = SeededRandom.runSeed

  /// - Parameter test: printed together with the seed
  init(for test: String = #function) { print("\(test): \(self)") }

  var description: String { "SENSORHUB_SEED=\(value)" }

  /// The random numbers for one of several threads.
  func random(_ index: Int = 0) -> SeededRandom { SeededRandom(seed: value &* 1000 &+ UInt64(index) &+ 1) }
}
