import Glibc
import Hub

/// A receiver at 3.3 V and 35 mA. Its start times vary randomly around these values.
struct PowerReceiver {
  let name: String
  /// The time to first fix.
  let seconds: [RestartCosts.Kind: Double]

  static let milliamperes = 35
  static let volts = 3.3
  static let watts = Double(milliamperes) * volts / 1000
  static let all = [
    PowerReceiver(name: "", seconds: [.hot: 28, .warm: 28, .cold: 28]),
    PowerReceiver(name: ", backup supply", seconds: [.hot: 1.5, .warm: 27, .cold: 30]),
  ]

  /// A random factor for the duration of the next start.
  static func luck(_ chance: inout SplitMix) -> Double { exp(0.25 * PowerDemand.normal(&chance)) }

  /// The random factor for the start for a particular fix, the same for every policy.
  static func luck(ofFix index: Int) -> Double {
    var chance = SplitMix(seed: 41 + 1_000_003 * UInt64(index))
    return luck(&chance)
  }
}
