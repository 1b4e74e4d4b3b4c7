import Glibc
import Hub

/// A receiver at 3.3 V and 35 mA; its starts take more or less than this, by chance.
struct PowerReceiver {
  let name: String
  /// To the first fix.
  let seconds: [RestartCosts.Kind: Double]

  static let milliamperes = 35
  static let volts = 3.3
  static let watts = Double(milliamperes) * volts / 1000
  static let all = [
    PowerReceiver(name: "", seconds: [.hot: 28, .warm: 28, .cold: 28]),
    PowerReceiver(name: ", backup supply", seconds: [.hot: 1.5, .warm: 27, .cold: 30]),
  ]

  /// What the next start takes longer than usual: a factor.
  static func luck(_ chance: inout SplitMix) -> Double { exp(0.25 * PowerDemand.normal(&chance)) }

  /// The same of the start for one fix, whoever makes it.
  static func luck(ofFix index: Int) -> Double {
    var chance = SplitMix(seed: 41 + 1_000_003 * UInt64(index))
    return luck(&chance)
  }
}
