/// How the uncertainty of a position grows while no fix comes: what is known of the motion in the meantime.
///
/// A pure function of time. All sigmas are standard deviations along one axis, as in `FusedState.Position`.
struct SigmaGrowth: Equatable, Sendable {
  /// Of the position at the beginning.
  var sigmaMetres: Double
  /// How fast the true position leaves the known one: the speed, if the known one stays where it is, or the velocity's sigma, if dead
  /// reckoning carries it on.
  var metresPerSecond: Double
  /// How fast that speed itself may grow.
  var metresPerSecondSquared: Double
  /// The speed stops growing there; `nil` for no limit.
  var mostMetresPerSecond: Double?

  /// A board that a motion sensor watches, and that has not moved.
  static func still(sigmaMetres: Double) -> SigmaGrowth {
    SigmaGrowth(
      sigmaMetres: sigmaMetres, metresPerSecond: StandingFix.creepMetresPerHour / 3600, metresPerSecondSquared: 0)
  }

  /// The position's sigma after some seconds.
  func sigma(after seconds: Double) -> Double {
    let way = way(after: max(0, seconds))
    return (sigmaMetres * sigmaMetres + way * way).squareRoot()
  }

  /// How far the true position may have gone from the known one.
  private func way(after seconds: Double) -> Double {
    let accelerated = metresPerSecond * seconds + metresPerSecondSquared * seconds * seconds / 2
    guard let most = mostMetresPerSecond, most >= metresPerSecond, metresPerSecondSquared > 0 else {
      return accelerated
    }
    let reached = (most - metresPerSecond) / metresPerSecondSquared
    guard seconds > reached else { return accelerated }
    return (metresPerSecond + most) / 2 * reached + most * (seconds - reached)
  }

  /// After how many seconds the sigma reaches a bound; 0 if it is beyond it from the beginning.
  func seconds(until boundMetres: Double, atMost most: Double) -> Double {
    guard sigmaMetres < boundMetres else { return 0 }
    guard sigma(after: most) > boundMetres else { return most }
    var (low, high) = (0.0, most)
    // The sigma never falls: half of the interval each time, until less is left than a clock can tell.
    for _ in 0..<60 {
      let middle = (low + high) / 2
      if sigma(after: middle) <= boundMetres { low = middle } else { high = middle }
    }
    return low
  }
}
