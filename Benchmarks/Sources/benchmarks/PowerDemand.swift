import Glibc

/// The demand for a device over a week, as the gaps between visits. The gaps are independent of the policy, except an
/// adversary's, which follow from it.
struct PowerDemand {
  enum Gaps {
    /// The gaps in seconds, in order.
    case given([Double])
    /// A visit begins each time the device has just been switched off, `count` times.
    case adversarial(count: Int)
  }

  let name: String
  let gaps: Gaps
  /// Whether there is a pattern to learn.
  let isPatterned: Bool

  private static let day = 86_400.0
  private static let week = 7 * day

  static func all(_ chance: inout SplitMix) -> [PowerDemand] {
    var demands = [
      commuter(&chance), browser(&chance), periodic("a fix every 20 seconds", 20, &chance),
      periodic("a fix every minute", 60, &chance), periodic("a fix every 15 minutes", 900, &chance),
    ]
    for mean in [2.0, 5, 10, 20, 40, 120, 900, 7200] {
      let gaps = until(week) { -mean * log(1 - Double.random(in: 0..<1, using: &chance)) }
      demands.append(
        PowerDemand(name: "Poisson, \(fixed(mean, 0)) s in the mean", gaps: .given(gaps), isPatterned: false))
    }
    demands.append(shifting(&chance))
    demands.append(PowerDemand(name: "adversary", gaps: .adversarial(count: 5000), isPatterned: false))
    return demands
  }

  /// Two trips on each working day and one on weekends, during which the map is opened briefly several times.
  private static func commuter(_ chance: inout SplitMix) -> PowerDemand {
    var visits: [(begin: Double, end: Double)] = []
    for date in 0..<7 {
      for hour in date < 5 ? [7.7, 17.5] : [11.0] {
        var now = Double(date) * day + (hour + .random(in: -0.4...0.4, using: &chance)) * 3600
        let arrival = now + .random(in: 1500...2700, using: &chance)
        while now < arrival {
          let end = now + .random(in: 3...20, using: &chance)
          visits.append((now, end))
          now = end + 9 * exp(0.6 * normal(&chance))
        }
      }
    }
    return PowerDemand(name: "commuter", gaps: .given(between(visits)), isPatterned: true)
  }

  /// The dashboard, opened several times a day, and left briefly while it is open.
  private static func browser(_ chance: inout SplitMix) -> PowerDemand {
    var visits: [(begin: Double, end: Double)] = []
    for date in 0..<7 {
      let openings = (0..<Int.random(in: 3...8, using: &chance))
        .map { _ in Double(date) * day + .random(in: 8...22, using: &chance) * 3600 }.sorted()
      for opening in openings {
        var now = max(opening, (visits.last?.end ?? 0) + 60)
        for _ in 0...Int.random(in: 0...3, using: &chance) {
          let end = now + .random(in: 20...200, using: &chance)
          visits.append((now, end))
          now = end + .random(in: 2...9, using: &chance)
        }
      }
    }
    return PowerDemand(name: "browser now and then", gaps: .given(between(visits)), isPatterned: true)
  }

  private static func periodic(_ name: String, _ period: Double, _ chance: inout SplitMix) -> PowerDemand {
    let visit = 4.0
    let gaps = (0..<Int(week / period)).map { _ in period - visit + .random(in: -0.5...0.5, using: &chance) }
    return PowerDemand(name: name, gaps: .given(gaps), isPatterned: true)
  }

  /// Twenty short gaps, then twenty long ones: anything learned is soon wrong.
  private static func shifting(_ chance: inout SplitMix) -> PowerDemand {
    let gaps = (0..<2000).map { index in
      index / 20 % 2 == 0 ? Double.random(in: 3...6, using: &chance) : .random(in: 200...400, using: &chance)
    }
    return PowerDemand(name: "another pattern every 20 visits", gaps: .given(gaps), isPatterned: false)
  }

  private static func between(_ visits: [(begin: Double, end: Double)]) -> [Double] {
    zip(visits, visits.dropFirst()).map { max(0, $1.begin - $0.end) }
  }

  private static func until(_ end: Double, _ next: () -> Double) -> [Double] {
    var gaps: [Double] = []
    var now = 0.0
    while now < end {
      gaps.append(next())
      // Each visit takes ten seconds.
      now += (gaps.last ?? 0) + 10
    }
    return gaps
  }

  /// A normally distributed value (Box and Muller).
  static func normal(_ chance: inout SplitMix) -> Double {
    (-2 * log(1 - Double.random(in: 0..<1, using: &chance))).squareRoot()
      * cos(2 * .pi * Double.random(in: 0..<1, using: &chance))
  }
}

/// A reproducible random number generator: SplitMix64 (Steele, Lea, Flood 2014).
struct SplitMix: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }
}
